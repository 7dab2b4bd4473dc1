import type { Queries } from './queries/queries'

/** What a decision can read. */
export type Facts = Omit<Queries, 'records'>
