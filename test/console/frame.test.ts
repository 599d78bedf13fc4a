/** Frame of pages, links of steps, and statuses of errors: facts in, text out. */
import { expect, test } from 'vitest'
import { statusOf } from '../../src/console/door.ts'
import { framed, stepsHtml, type Viewer } from '../../src/console/layout.ts'
import { pageOf } from '../../src/console/typed-commands.ts'
import { type ErrorCode, WaybillError } from '../../src/model/errors.ts'

const OPERATOR: Viewer = { csrf: 'c', name: 'olga', mayAct: true, maySeeValues: false }
const VIEWER: Viewer = { ...OPERATOR, name: 'vera', mayAct: false }

const PAGE = { title: 'a title', body: '<p>a body</p>' }

test.each([
  ['/', 'This morning'],
  ['/exports', 'Exports'],
  ['/mappings', 'Mappings'],
  ['/mappings/clinic', 'Mappings'],
  ['/mappings/clinic/rows', 'Mappings'],
  ['/system', 'System'],
  ['/runs/RUN', undefined],
])('at %s the list of pages marks %s', (path, name) => {
  const marked = [...framed(PAGE, OPERATOR, { path }).matchAll(/aria-current="page">([^<]*)</g)]
  expect(marked.map(([, words]) => words)).toEqual(name === undefined ? [] : [name])
})

test('the bar names the reader, and says who may only read; without a reader there is none', () => {
  expect(framed(PAGE, OPERATOR)).toContain('<p>olga</p>')
  expect(framed(PAGE, VIEWER)).toContain('<p>vera, read only</p>')
  expect(framed(PAGE, undefined)).not.toMatch(/<nav|<script/)
})

test('a step links to a page for everybody, and to an action for operators alone', () => {
  const steps = [{ say: 'To see it', commands: ['waybill show RUN-1', 'waybill rerun RUN-1'] }]
  const linksOf = (viewer: Viewer) =>
    [...stepsHtml(steps, viewer).matchAll(/href="([^"]*)"/g)].map(([, to]) => to)
  expect(linksOf(OPERATOR)).toEqual(['/runs/RUN-1', '/do/rerun?run=RUN-1'])
  expect(linksOf(VIEWER)).toEqual(['/runs/RUN-1'])
})

test.each([
  ['waybill show RUN-1', '/runs/RUN-1'],
  ['waybill watch RUN-1', '/runs/RUN-1'],
  ['waybill doctor', '/system'],
  ['waybill schedule --explain nightly', '/schedule#job-nightly'],
  ['waybill trace T-1', '/trace?transaction=T-1'],
  ['waybill show RUN-1 --reason x', undefined],
  ['waybill prune', undefined],
])('%s is read on the page %s', (typed, to) => {
  expect(pageOf(typed)?.to).toBe(to)
})

// RFC 9110, section 15.5: wrong request, missing right, not found, conflict with the state, gone; 503: later.
test.each<[ErrorCode, number]>([
  ['usage-wrong', 400],
  ['role-missing', 403],
  ['run-not-found', 404],
  ['job-not-found', 404],
  ['ledger-not-found', 404],
  ['job-held', 409],
  ['nothing-left', 409],
  ['run-unfinished', 409],
  ['run-pruned', 410],
  ['ledger-unusable', 503],
  ['job-invalid', 503],
])('the error %s is answered %i', (code, status) => {
  expect(statusOf(new WaybillError(code, 'words'))).toBe(status)
})
