"""What other libraries are told of Tensor, a file for each; ``fastops.registrations`` says when."""
