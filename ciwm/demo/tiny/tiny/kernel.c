/* tiny: the two kernels of a very small framework. */
#include <stddef.h>

#define BLOCK 32

/* c[m][n] += a[m][k] * b[k][n], blocked over k */
void tiny_matmul(const float *a, const float *b, float *c, size_t m, size_t k, size_t n)
{
    for (size_t block = 0; block < k; block += BLOCK) {
        size_t end = block + BLOCK < k ? block + BLOCK : k;
        for (size_t row = 0; row < m; row++)
            for (size_t inner = block; inner < end; inner++) {
                float factor = a[row * k + inner];
                for (size_t column = 0; column < n; column++)
                    c[row * n + column] += factor * b[inner * n + column];
            }
    }
}

/* sum of squares of x, the core of RMSNorm */
float tiny_sum_squares(const float *x, size_t n)
{
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}
