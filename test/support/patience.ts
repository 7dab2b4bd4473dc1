import { timeouts } from '../../db/postgres/client/timeouts'

const real = { ...timeouts }
const tenfold = Object.fromEntries(Object.entries(real).map(([what, millis]) => [what, millis * 10]))
// A transaction that leaves the server waiting is a fault, and ends as soon as it does in the program.
const long = { ...tenfold, idle: real.idle }

/**
 * Waits for the same, ten times as long, as all tests do but those of how long is waited: a machine that others use too may
 * have no time for a test for longer than a partner is ever made to wait.
 */
export const haveLongPatience = () => void Object.assign(timeouts, long)

/** Waits no longer than the program does. */
export const haveRealPatience = () => void Object.assign(timeouts, real)
