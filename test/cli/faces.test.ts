import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generateSamples } from '../../samples/generate.ts'
import { createWorkplace } from './command-line.ts'
import { startReferenceStore } from './reference-store.ts'

const GOLDEN = join(import.meta.dirname, 'golden')

test.for([
  [],
  ['run'],
  ['backfill'],
  ['schedule'],
  ['needs'],
  ['runs'],
  ['show'],
  ['watch'],
  ['stop'],
  ['pause'],
  ['unpause'],
  ['resume'],
  ['trace'],
  ['rerun'],
  ['reconcile'],
  ['resolve'],
  ['acknowledge'],
  ['mapping'],
  ['mapping', 'init'],
  ['mapping', 'check'],
  ['mapping', 'test'],
  ['mapping', 'diff'],
  ['mapping', 'preview'],
  ['gateway'],
  ['doctor'],
  ['report'],
  ['notify'],
  ['expect'],
  ['backup'],
  ['prune'],
])('the help of "waybill %s"', async (command) => {
  const { waybill } = await createWorkplace()
  const { code, out } = await waybill(...command, '--help')
  expect(code).toBe(0)
  await expect(out).toMatchFileSnapshot(join(GOLDEN, `help-${['waybill', ...command].join('-')}.txt`))
})

test('the summary of a run, and what show says of it later', async () => {
  const store = await startReferenceStore()
  const workplace = await createWorkplace({ ...store.environment, WAYBILL_KEY: 'a key that stays the same' })
  await generateSamples({ out: workplace.folder, participants: 600, messages: 0 })
  await workplace.job('small', 'exports: { from: .., match: "acme_*.csv", mapping: acme-onsite }\n')
  const ran = await workplace.waybill('run', 'small')
  const shown = await workplace.waybill('show')
  expect(shown.out).toBe(ran.out)
  await expect(steady(ran.out, store.url)).toMatchFileSnapshot(join(GOLDEN, 'summary.txt'))
})

test('an error says what was found, where, and what to do', async () => {
  const workplace = await createWorkplace()
  const { code, err } = await workplace.waybill('run', 'nothing')
  expect(code).toBe(2)
  await expect(err).toMatchFileSnapshot(join(GOLDEN, 'error-job-not-found.txt'))
})

/** Without what differs from run to run: ids, seconds, the gateway's port. */
const steady = (text: string, url: string): string =>
  text
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN')
    .replaceAll(/after \d+\.\d s/g, 'after N s')
    .replaceAll(url, 'GATEWAY')
