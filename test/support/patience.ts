import { patience } from '../../db/postgres/client/patience'

const real = { ...patience }
const tenfold = Object.fromEntries(Object.entries(real).map(([what, millis]) => [what, millis * 10]))
// What the server is to wait for no longer stays so: an act that leaves it waiting is a fault, and one that was kept is tried again.
const long = { ...tenfold, idleTransaction: real.idleTransaction }

/**
 * Waits for the same, ten times as long, as all tests do but those of how long is waited: a machine that others use too may
 * have no time for a test for longer than a partner is ever made to wait.
 */
export const haveLongPatience = () => void Object.assign(patience, long)

/** Waits no longer than the program does. */
export const haveRealPatience = () => void Object.assign(patience, real)
