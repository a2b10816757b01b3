// <x_i, H^-1 x_i> for rows x_i and a positive definite H: how far a row that is left out would move
// its own prediction, for each unit of its slope. Threaded, the same result for any number of
// threads.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/parallel.hpp"
#include "rows/rows.hpp"

namespace maxmargin {

// out_m for row chosen_m. H is width x width, row-major; its lower triangle is read, and
// overwritten by the Cholesky factor. False if H is not positive definite to working precision.
bool inverse_forms(const Rows& rows, const std::uint32_t* chosen, std::size_t count, double* H,
                   double* out, Pool& pool);

}  // namespace maxmargin
