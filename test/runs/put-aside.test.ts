/** Exports put aside: the job that is meant, the person and instant that are kept, and the list. */
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { putAside, readAside } from '../../src/runs/put-aside.ts'

const PERSON = { by: 'ann', note: 'a new one comes' }
const NOW = 1_000
const aside = (job: string, name = 'b.csv') => ({ job, export: name })

/** @param unread jobs whose runs have left `b.csv` unread @param kept exports put aside */
function given(unread: readonly string[], kept: readonly ReturnType<typeof aside>[] = [], fault?: Error) {
  const noted: unknown[] = []
  const note = async (...given: readonly unknown[]): Promise<void> => {
    await setImmediate()
    noted.push(given)
  }
  const ledger = {
    putAside: {
      list: async () => kept,
      jobsOf: async (name: string) => (name === 'b.csv' ? unread : []),
      begin: (...given: readonly unknown[]) => note('begin', ...given),
      end: (...given: readonly unknown[]) => note('end', ...given),
    },
    close: async () => {},
  }
  const application = {
    settings: { ledger: 'postgres://db/w', home: '/nowhere' },
    now: () => NOW,
    async openLedger() {
      if (fault !== undefined) throw fault
      return ledger
    },
  } as unknown as Application
  return { application, noted }
}

const NONE = { code: 'nothing-left' }
const SEVERAL = {
  code: 'usage-wrong',
  message: 'several jobs have an export b.csv: a, c',
  remedy: 'Name one, like: --job a',
}

test.each<[string, readonly string[], string | undefined, boolean, object]>([
  ['no job has', [], undefined, false, { ...NONE, message: 'no run has left an export b.csv unread' }],
  ['one job has', ['a'], undefined, false, aside('a')],
  ['one job has in two runs', ['a', 'a'], undefined, false, aside('a')],
  ['two jobs have', ['a', 'c'], undefined, false, SEVERAL],
  ['two jobs have, one is named', ['a', 'c'], 'c', false, aside('c')],
  ['another job than the named has', ['a'], 'c', false, NONE],
  ['no job has put aside', ['a'], undefined, true, { ...NONE, message: 'b.csv is not put aside' }],
])('an export that %s', async (_, unread, job, undo, expected) => {
  const { application, noted } = given(unread, undo ? [aside('a', 'other.csv')] : [])
  const end = await putAside(application, { name: 'b.csv', job, undo }, PERSON).catch(
    (error: unknown) => error,
  )
  expect(end).toMatchObject(expected)
  const acting = { ...PERSON, at: NOW }
  expect(noted).toEqual('job' in expected ? [['begin', 'b.csv', expected.job, acting]] : [])
})

test('an export is taken back from the job that has put it aside', async () => {
  const { application, noted } = given(['c'], [aside('a'), aside('c', 'other.csv')])
  expect(await putAside(application, { name: 'b.csv', undo: true }, PERSON)).toEqual(aside('a'))
  expect(noted).toEqual([['end', 'b.csv', 'a', { ...PERSON, at: NOW }]])
})

test('the list is that of all jobs, or of one; a ledger that cannot be used is a need by itself', async () => {
  const { application } = given([], [aside('a'), aside('c')])
  expect(await readAside(application)).toEqual([aside('a'), aside('c')])
  expect(await readAside(application, 'c')).toEqual([aside('c')])
  const fault = new WaybillError('ledger-unusable', 'the disk is away')
  expect(await readAside(given([], [aside('a')], fault).application)).toEqual([])
  const defect = new TypeError('defect')
  await expect(readAside(given([], [], defect).application)).rejects.toBe(defect)
})
