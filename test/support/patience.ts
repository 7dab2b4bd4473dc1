import { patience } from '../../db/postgres/patience'

const real = { ...patience }
const long = Object.fromEntries(Object.entries(real).map(([what, millis]) => [what, millis * 10]))

/**
 * Waits for the same, ten times as long, as all tests do but those of how long is waited: a machine that others use too may
 * have no time for a test for longer than a partner is ever made to wait.
 */
export const haveLongPatience = () => void Object.assign(patience, long)

/** Waits no longer than the program does. */
export const haveRealPatience = () => void Object.assign(patience, real)
