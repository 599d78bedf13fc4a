/** An unreadable export that a person has put aside: no run is red for it, until its content changes. */
import { readFile, utimes } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ANN, BEN, HEADER, JOB, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const GARBAGE = Buffer.from([0xff, 0xfe, 0, 1, 2, 3])

test('runs pass over an export put aside, with person and reason; new content is read again', async () => {
  const clinic = await openClinic()
  const { waybill } = clinic.workplace
  const path = await clinic.deliver('b.csv', GARBAGE)
  await clinic.deliver('a.csv', HEADER + ANN)
  const first = await clinic.run()
  expect(first.code).toBe(1)
  const none = await waybill('put-aside', 'other.csv', '--reason', 'x')
  expect([none.code, none.err]).toEqual([2, expect.stringContaining('unread')])
  expect((await waybill('put-aside', 'a.csv', '--reason', 'it was read')).code).toBe(2)
  expect((await waybill('put-aside', 'b.csv')).code).toBe(2)
  expect((await waybill('put-aside', 'b.csv', '--reason', 'a new one comes', '--by', 'ann')).code).toBe(0)
  const needs = JSON.parse((await waybill('needs', '--json')).out)
  expect(needs.putAside).toMatchObject([
    { job: 'clinic', export: 'b.csv', by: 'ann', note: 'a new one comes' },
  ])
  expect(needs.needs).toEqual([])
  expect((await waybill('needs')).out).toContain('Put aside: b.csv of clinic, by ann')
  expect((await waybill('show', summaryOf(first).run)).out).toContain('b.csv was put aside by ann at')

  const next = await clinic.run()
  expect(next.code).toBe(0)
  expect(summaryOf(next).exports.map(({ name }) => name)).toEqual(['a.csv'])
  expect(await readFile(path)).toEqual(GARBAGE)
  // The same bytes, written again.
  await utimes(path, new Date(), new Date(Date.now() - 60_000))
  expect((await clinic.run()).code).toBe(0)
  // A person who names the file wants it read.
  expect((await clinic.run('--file', path)).code).not.toBe(0)

  await clinic.deliver('b.csv', Buffer.concat([GARBAGE, GARBAGE]))
  expect((await clinic.run()).code).toBe(1)
  await waybill('put-aside', 'b.csv', '--reason', 'again', '--by', 'ben')
  expect((await clinic.run()).code).toBe(0)
  expect((await waybill('put-aside', 'b.csv', '--undo', '--by', 'cat')).code).toBe(0)
  expect((await waybill('put-aside', 'b.csv', '--undo')).code).toBe(2)
  expect((await clinic.run()).code).toBe(1)
  await clinic.deliver('b.csv', HEADER + BEN)
  expect((await clinic.run()).code).toBe(0)
  const { audit } = JSON.parse((await waybill('audit', '--json')).out)
  expect(audit.map(({ by, action, note }: Record<string, unknown>) => [by, action, note])).toEqual([
    ['ann', 'put-aside', 'a new one comes'],
    ['ben', 'put-aside', 'again'],
    ['cat', 'undo-put-aside', null],
  ])
})

test('of several jobs with an export of the name, one is named', async () => {
  const clinic = await openClinic()
  const { waybill, job } = clinic.workplace
  await job('other', JOB)
  await clinic.deliver('b.csv', GARBAGE)
  for (const name of ['clinic', 'other']) await waybill('run', name)
  const both = await waybill('put-aside', 'b.csv', '--reason', 'x')
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('clinic, other')])
  expect((await waybill('put-aside', 'b.csv', '--reason', 'x', '--job', 'other')).code).toBe(0)
  expect((await waybill('run', 'other')).code).toBe(0)
  expect((await waybill('run', 'clinic')).code).not.toBe(0)
})

test('a dry run and a backfill pass over the export, too', async () => {
  const clinic = await openClinic({
    job: `exports: { from: ../inbox, match: "c_{date:yyyyMMdd}.csv", mapping: clinic }\naccounts: { register: never }\n`,
  })
  const { waybill } = clinic.workplace
  const path = await clinic.deliver('c_20260302.csv', GARBAGE)
  await clinic.deliver('c_20260303.csv', HEADER + ANN)
  const RANGE = ['backfill', 'clinic', '--from', '2026-03-01', '--to', '2026-03-31']
  expect([(await clinic.run()).code, (await clinic.run('--dry-run')).code]).toEqual([1, 1])
  expect((await waybill(...RANGE)).code).toBe(1)

  await waybill('put-aside', 'c_20260302.csv', '--reason', 'x')
  const dry = await clinic.run('--dry-run', '--json')
  expect([dry.code, JSON.parse(dry.out)]).toMatchObject([
    0,
    { failed: [], exports: [{ name: 'c_20260303.csv', rows: 1 }] },
  ])
  expect((await clinic.run('--dry-run', '--file', path)).code).not.toBe(0)
  const planned = await waybill(...RANGE, '--dry-run', '--json')
  expect([planned.code, JSON.parse(planned.out)]).toMatchObject([
    0,
    {
      exports: [
        { name: 'c_20260302.csv', putAside: true },
        { name: 'c_20260303.csv', rows: 1 },
      ],
      rows: 1,
    },
  ])
  expect(JSON.parse(planned.out).exports[0].error).toBeUndefined()
  expect((await waybill(...RANGE, '--dry-run')).out).toMatch(/c_20260302\.csv +put aside/)
  const range = await waybill(...RANGE, '--json')
  expect([range.code, summaryOf(range).exports.map(({ name }) => name)]).toEqual([0, ['c_20260303.csv']])
})
