import { patience } from '../../db/postgres/client/patience'
import { timeouts } from '../../db/postgres/client/timeouts'

const tenfold = (real: object) =>
  Object.fromEntries(Object.entries(real).map(([what, ms]) => [what, ms * 10]))
const real = { patience: { ...patience }, timeouts: { ...timeouts } }
// A transaction that leaves the server waiting is a fault, and ends as soon as it does in the program.
const idle = timeouts.idle
const long = {
  patience: { ...tenfold(patience), idleTransaction: idle },
  timeouts: { ...tenfold(timeouts), idle },
}

function have(wanted: { readonly patience: object; readonly timeouts: object }): void {
  Object.assign(patience, wanted.patience)
  Object.assign(timeouts, wanted.timeouts)
}

/**
 * Waits for the same, ten times as long, as all tests do but those of how long is waited: a machine that others use too may
 * have no time for a test for longer than a partner is ever made to wait.
 */
export const haveLongPatience = () => have(long)

/** Waits no longer than the program does. */
export const haveRealPatience = () => have(real)
