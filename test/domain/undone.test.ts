import { expect, test } from 'bun:test'
import { type InForce, isAnyValidAgain, undoneBy } from '../../src/domain/undone'

const state: InForce = {
  tokens: [{ id: 'kid-1', partner: 'Lantern' }],
  partners: [{ id: 1, name: 'Lantern' }],
  organizations: [{ id: 1, name: 'North Care' }],
  providers: [{ id: 1, name: 'on-1' }],
  members: [
    { id: 1, active: true },
    { id: 2, active: false },
  ],
  requests: [1, 2, 3].map((id) => ({ id, standing: 'pending' })),
  absences: [],
}
const nothing = {
  tokens: [],
  partners: [],
  organizations: [],
  providers: [],
  deactivatedMembers: [],
  erasedMembers: [],
  changedRequests: [],
  lostAbsences: [],
  lostTokens: [],
  lostRequests: 0,
}

test('of two states that are the same, and of what was only renamed or added, nothing is undone', () => {
  expect(undoneBy(state, state)).toEqual(nothing)
  const later = {
    ...state,
    partners: [
      { id: 1, name: 'Lantern & Co' },
      { id: 2, name: 'Harbour' },
    ],
    members: [...state.members, { id: 3, active: true }],
  }
  expect(undoneBy(state, later)).toEqual(nothing)
})

test.each<[Partial<InForce>, Partial<ReturnType<typeof undoneBy>>]>([
  [{ tokens: [] }, { tokens: state.tokens }],
  [{ partners: [] }, { partners: state.partners }],
  [{ organizations: [] }, { organizations: state.organizations }],
  [{ providers: [] }, { providers: state.providers }],
  [
    { requests: state.requests.map(({ id }) => ({ id, standing: id === 2 ? 'declined' : 'pending' })) },
    { changedRequests: [2] },
  ],
  [
    { absences: [{ id: 'on-1, 2026-12-01 to 2026-12-02' }] },
    { lostAbsences: ['on-1, 2026-12-01 to 2026-12-02'] },
  ],
  [{ members: [{ id: 1, active: true }] }, { erasedMembers: [2] }],
  [{ members: [{ id: 2, active: false }] }, { erasedMembers: [1] }],
  [{ members: state.members.map(({ id }) => ({ id, active: false })) }, { deactivatedMembers: [1] }],
])('%p makes valid again: %p', (later, undone) => {
  const found = undoneBy(state, { ...state, ...later })
  expect(found).toEqual({ ...nothing, ...undone })
  expect(isAnyValidAgain(found)).toBe(true)
})

test('what is merely lost makes nothing valid again', () => {
  const handed = { id: 'kid-2', partner: 'Lantern' }
  const requests = [1, 2, 3, 4, 5].map((id) => ({ id, standing: 'pending' }))
  const found = undoneBy(state, { ...state, tokens: [...state.tokens, handed], requests })
  expect(found).toEqual({ ...nothing, lostTokens: [handed], lostRequests: 2 })
  expect(isAnyValidAgain(found)).toBe(false)
})
