/**
 * How long is waited for what, in ms. By these together whoever submits hears within two seconds, and a node that is frozen or
 * cut off holds nobody else up for longer than half a second.
 */
export const patience = {
  /** For a server that answers nothing, and for a connection to it. */
  answer: 1_000,
  /** By whoever submits, while nothing can be stored, in all. */
  submission: 1_900,
  /** For one attempt to store it. */
  attempt: 1_000,
  /** By whoever reads, while nothing is answered, in all. */
  reading: 1_900,
  /** No attempt is begun where less is left. */
  leastAttempt: 400,
  /** By an attempt, for a lock: two use up the time that a submission has, and no third is cut off in the middle. */
  attemptLock: 800,
  /** By an act of staff for a lock, and for a server that answers nothing meanwhile. */
  actLock: 1_500,
  act: 4_000,
  /** By a server, for the process that began a transaction. */
  idleTransaction: 400,
  /** For one write that is tried to see whether it can be made, and by it for a lock. */
  trial: 1_000,
  trialLock: 500,
}
