/** Work that an earlier process has left of a chunk, by the states of its batches. */
import { expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { packEntries } from '../../src/ledger/packed-records.ts'
import { recallChunk } from '../../src/load/recall.ts'
import { people } from './made-up-entries.ts'

it('a record may have been sent in a batch without an answer, and in one that was refused and cut', async () => {
  const entries = people(5)
  const [, planned, sending, settled, split] = entries
  const batches = Object.entries({ planned, sending, settled, split }).map(([state, entry], id) => ({
    ...{ id, batch_id: state, kind: 'biometric', records: 1, state, status: 201, answer: 'accepted' },
    holds: packEntries(entry === undefined ? [] : [entry]),
  }))
  const chunks = { exceptions: async () => [], batches: async () => batches } as unknown as Ledger['chunks']
  const { outcomes, unanswered, unsent, perhapsSent } = await recallChunk(
    { chunks },
    { exportRow: 1, chunk: 1, resumed: true },
    entries,
    new Map(),
  )
  expect(outcomes.map(({ entry, outcome }) => [entry, outcome])).toEqual([[settled, 'accepted']])
  expect(unanswered.flatMap((batch) => batch.entries)).toEqual([sending])
  expect(unsent).toEqual(entries.filter((entry) => entry !== settled && entry !== sending))
  expect([...perhapsSent]).toEqual([sending, split])
})
