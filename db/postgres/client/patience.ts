/** In ms. */
export const patience = {
  submission: 1_900,
  attempt: 1_000,
  leastAttempt: 400,
  attemptLock: 800,
  actLock: 1_500,
  act: 4_000,
  idleTransaction: 400,
}
