import { describe } from 'bun:test'
import { openMemoryPlace } from './memory-engine'
import { storeDoesWhatTheOperatorAsks } from './operator.contract'
import { storeKnowsRetries } from './retries.contract'
import { storeKeepsItsPromises } from './store.contract'

describe('an engine that keeps everything in memory', () => {
  storeKeepsItsPromises(openMemoryPlace)
  storeDoesWhatTheOperatorAsks(openMemoryPlace)
  storeKnowsRetries(openMemoryPlace)
})
