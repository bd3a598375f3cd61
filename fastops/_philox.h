/* Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011):
   a block of four 32-bit words is a function of a 128-bit counter and a 64-bit key, so that every element of an array has
   bits of its own, whatever thread or device computes it. Plain C, for compilers of other devices too. */
#ifndef FASTOPS_PHILOX
#define FASTOPS_PHILOX

#include <stdint.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#define FASTOPS_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FASTOPS_WIDE
#endif

typedef struct { uint32_t word[4]; } fastops_block;

static inline fastops_block fastops_philox(uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3, uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    fastops_block block;
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)0xD2511F53u * c0, second = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(second >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)second;
        c2 = (uint32_t)(first >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)first;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    block.word[0] = c0;
    block.word[1] = c1;
    block.word[2] = c2;
    block.word[3] = c3;
    return block;
}

/* The counters: two words number the block, one counts within an element's own stream, one says what the block is for. */
enum { FASTOPS_WORDS = 0, FASTOPS_STREAM = 1, FASTOPS_NORMAL = 2, FASTOPS_WIDE_WORDS = 3 };

static inline fastops_block fastops_block_of(uint64_t number, uint32_t position, uint32_t purpose, uint64_t key)
{
    return fastops_philox((uint32_t)number, (uint32_t)(number >> 32), position, purpose, key);
}

/* 64 bits for element number e: two elements share a block. */
static inline uint64_t fastops_word(uint64_t e, uint64_t key)
{
    fastops_block block = fastops_block_of(e >> 1, 0, FASTOPS_WORDS, key);
    return e & 1 ? block.word[2] | (uint64_t)block.word[3] << 32 : block.word[0] | (uint64_t)block.word[1] << 32;
}

/* The words of elements first, first + 1, ...: blocks side by side, which compilers turn into vector instructions. */
FASTOPS_WIDE static void fastops_words(uint64_t *target, int64_t count, uint64_t first, uint32_t purpose, uint64_t key)
{
    int64_t done = 0;
    if (count > 0 && first & 1) {
        fastops_block block = fastops_block_of(first >> 1, 0, purpose, key);
        target[done++] = block.word[2] | (uint64_t)block.word[3] << 32;
    }
    uint64_t number = (first + (uint64_t)done) >> 1;
    int64_t pairs = (count - done) / 2;
    for (int64_t pair = 0; pair < pairs; pair++) {
        fastops_block block = fastops_block_of(number + (uint64_t)pair, 0, purpose, key);
        target[done + 2 * pair] = block.word[0] | (uint64_t)block.word[1] << 32;
        target[done + 2 * pair + 1] = block.word[2] | (uint64_t)block.word[3] << 32;
    }
    done += 2 * pairs;
    if (done < count) {
        fastops_block block = fastops_block_of((first + (uint64_t)done) >> 1, 0, purpose, key);
        target[done] = block.word[0] | (uint64_t)block.word[1] << 32;
    }
}

static inline double fastops_unit(uint64_t word) { return (double)(word >> 11) * 0x1p-53; }            /* 0 <= u < 1 */

/* An element's own stream, for samplers that take as many numbers as they need. */
typedef struct {
    uint64_t key, element;
    uint32_t position, used;
    fastops_block block;
} fastops_stream;

static inline uint32_t fastops_next_32(void *state)
{
    fastops_stream *stream = (fastops_stream *)state;
    if (stream->used == 4) {
        stream->block = fastops_block_of(stream->element, stream->position++, FASTOPS_STREAM, stream->key);
        stream->used = 0;
    }
    return stream->block.word[stream->used++];
}

static inline uint64_t fastops_next_64(void *state)
{
    uint64_t low = fastops_next_32(state);
    return low | (uint64_t)fastops_next_32(state) << 32;
}

static inline double fastops_next_double(void *state) { return fastops_unit(fastops_next_64(state)); }

#endif
