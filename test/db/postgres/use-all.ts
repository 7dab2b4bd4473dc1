import { expect } from 'bun:test'
import { Folder } from '../../support/folder'
import { now } from '../furniture'
import { callMaintenance, callStore, counted } from '../use-everything'
import { openPostgresEngine, type openPostgresPlace } from './place'

/** Calls each method of the engine's ports. */
export async function callAllPorts(place: Awaited<ReturnType<typeof openPostgresPlace>>): Promise<void> {
  using folder = new Folder()
  const engine = await openPostgresEngine(place.url)
  const { store, maintenance, feed } = engine
  const [called, kept] = [new Set<string>(), new Set<string>()]
  await callStore({ ...place, feed, store: counted(store, called) })
  for (const filter of [{ providerId: 1 }, { partnerId: 1 }, { slotDay: 20_000 }, { submittedFrom: now }]) {
    await store.listRequests({ intakesOnly: false, ...filter })
    await store.listRequests({ intakesOnly: false, state: 'waiting', ...filter })
  }
  await callMaintenance(counted(maintenance, kept), folder.file('target'), false)
  await engine.close()
  expect(Object.keys(store).filter((name) => !called.has(name))).toEqual([])
  expect(Object.keys(maintenance).filter((name) => !kept.has(name))).toEqual([])
}
