import { describe } from 'bun:test'
import { storeDoesWhatTheOperatorAsks } from './operator.contract'
import { openPlace } from './place'
import { storeKeepsItsPromises } from './store.contract'

describe('the Store on SQLite', () => {
  storeKeepsItsPromises(openPlace)
  storeDoesWhatTheOperatorAsks(openPlace)
})
