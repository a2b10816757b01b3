// The reduced problem of the cutting plane methods, over planes 1..t:
//
//   max_{beta >= 0, sum beta <= 1}   b^T beta - 1/2 beta^T H beta,      H_jk = <a_j, a_k>
//
// by a primal active set method: beta is the exact optimum over its support, whose Cholesky factor
// is kept up to date, and one plane enters or leaves at a time. From one iteration of the outer
// method to the next only a plane or two change, so a warm start needs a handful of O(support^2)
// updates. Where planes are so close to dependent that the factor loses its digits, pairwise steps
// finish the work.
//
// The weight left over, 1 - sum beta, belongs to a zero plane (a = 0, b = 0), so that the weights
// always sum to one. Adding `shift` to every product then changes nothing but a constant, and makes
// the factor exist whenever the planes of the support are affinely independent.
#pragma once
#include <cstddef>
#include <vector>

#include "base/stop.hpp"
#include "linear/growing_factor.hpp"

namespace maxmargin {

class ReducedQP {
 public:
  ReducedQP();
  // Appends a plane: its offset b, and its inner products with planes 1..t and with itself.
  void append(double b, const double* products);
  // Forgets all planes but those listed (in increasing order); the weights of the others are lost.
  void keep(const std::vector<std::size_t>& planes);
  // Every plane gains a coordinate: H_jk grows by coordinates_j coordinates_k. Weights stay.
  void widen(const double* coordinates);
  // Goes on from the last beta until no feasible beta is better by more than `tolerance`.
  // Returns the number of planes that entered or left. Throws Stopped if asked to end; weights are
  // feasible then, up to rounding, and a later call goes on from them.
  int solve(double tolerance, Stop* stop = nullptr);

  std::size_t size() const { return b_.size(); }
  const std::vector<double>& beta() const { return beta_; }

 private:
  using Vector = std::vector<double>;
  static constexpr std::size_t kZero = static_cast<std::size_t>(-1);  // the zero plane

  struct Step {
    double length;
    std::size_t blocking;  // position in the support; kZero if none
  };
  struct Outlook {
    std::size_t up, down;  // the pair of planes with the steepest slope
    double possible_gain, slope;
  };

  double product(std::size_t j, std::size_t k) const;
  double& weight(std::size_t j) { return j == kZero ? zero_weight_ : beta_[j]; }
  Vector gradients() const;
  static double gradient(const Vector& g, std::size_t j) { return j == kZero ? 0.0 : g[j]; }
  Outlook outlook(const Vector& gradients) const;
  double value(const Vector& g) const;
  // These take the gradients at the weights and leave those at the new ones.
  int follow_active_set(double tolerance, Vector& g, Stop* stop);
  int follow_pairs(double tolerance, Vector& g, Stop* stop);

  // Row of the factor for a plane, and its pivot; false if the plane depends on the support.
  bool reduce(std::size_t plane, Vector& reduced, double& pivot) const;
  void support_from_weights();
  void normalise();
  bool enter(std::size_t plane);
  void leave(std::size_t position);
  void rebuild(Stop* stop);
  int to_optimum_over_support(const Vector& g, Stop* stop);
  Step move(const Vector& direction);  // until a weight of the support is used up

  Vector b_, beta_;
  std::vector<Vector> H_;  // by rows
  double zero_weight_ = 1, shift_ = 1;
  std::vector<std::size_t> support_;
  GrowingFactor factor_;  // of the products of the support
  bool stale_ = true;     // whether the factor is not that of the support
  std::size_t changes_since_rebuild_ = 0;
};

}  // namespace maxmargin
