/** Lists of ids as sources of rows: made when a run fetches them, and read again as they were. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listSource } from '../../src/definitions/export-definition.ts'
import { fingerprint } from '../../src/extract/content.ts'
import { KNOWN_PEOPLE, listedArticles } from '../../src/extract/sources/id-lists.ts'
import type { IdLists } from '../../src/extract/sources/source.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { connectLists, goneArticles } from '../../src/run/listed-ids.ts'
import { client } from '../gateway/loopback.ts'
import { beginRun } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PEOPLE = listSource(KNOWN_PEOPLE)

/** A process of a job with a list, at a time of its own. */
async function openProcess(folder: string, lists: IdLists | undefined, source = PEOPLE) {
  const arrival = createArrival(join(folder, 'spool'), { lists })
  onTestFinished(() => arrival.close(true))
  const find = async () => (await arrival.look(source, Date.now())).complete
  const receive = async () => {
    const [found] = await find()
    const [received] = await arrival.receive(found ?? expect.fail('lists nothing'))
    return received ?? expect.fail('received nothing')
  }
  return { arrival, find, receive }
}

async function openPeople(folder: string, key: string) {
  const ledger = await openLedger(
    join(folder, 'ledger.sqlite'),
    undefined,
    undefined,
    createAccountIdCipher(() => key),
  )
  onTestFinished(() => ledger.close())
  let at = 0
  const clock = { now: () => at++, random: () => 0, sleep: async () => {} }
  const deps = {
    ...{
      ...clock,
      dispatcher: createDispatcher(clock),
      ledger,
      gateway: client('http://127.0.0.1:9'),
      gatewayName: 'gateway',
    },
    interrupt: new AbortController().signal,
  }
  return { ledger, lists: connectLists(deps) }
}

async function register(ledger: Ledger, run: string, from: number, to: number): Promise<void> {
  const people = Array.from({ length: to - from }, (_, at) => ({
    reference: (from + at).toString(16).padStart(32, '0'),
    accountId: `id-${from + at}`,
    sentBefore: null,
  }))
  await (await beginRun(ledger, run)).saveAccounts('gateway', people, 0)
}

const linesOf = async (file: string): Promise<string[]> =>
  (await readFile(file, 'utf8')).split('\n').slice(0, -1)

test('each person that the ledger knows is listed once, however many pages they are; none whose id cannot be read', async () => {
  const folder = await temporaryFolder()
  const { ledger, lists } = await openPeople(folder, 'one')
  await register(ledger, 'run-0', 0, 2_001)
  const { file, address } = await (await openProcess(folder, lists)).receive()
  const lines = await linesOf(file)
  expect([address, lines.length, new Set(lines).size]).toEqual(['ledger:/known-people.ndjson', 2_001, 2_001])
  expect(lines[0]).toBe('{"accountId":"id-0"}')
  const another = await openPeople(folder, 'another')
  const unread = await (await openProcess(await temporaryFolder(), another.lists)).receive()
  expect(await linesOf(unread.file)).toEqual([])
})

test('a resumption reads the list of its run; the next look has whom the ledger knows by then', async () => {
  const folder = await temporaryFolder()
  const { ledger, lists } = await openPeople(folder, 'one')
  await register(ledger, 'run-0', 0, 2)
  const killed = await openProcess(folder, lists)
  const begun = await killed.receive()
  const { sha256 } = await fingerprint(begun.file)
  await killed.arrival.close(true)

  await register(ledger, 'run-1', 2, 3)
  const next = await openProcess(folder, lists)
  const again = await next.arrival.receiveAgain(begun.address, sha256, [PEOPLE])
  expect(await linesOf(again?.file ?? '')).toHaveLength(2)
  expect(await linesOf((await next.receive()).file)).toHaveLength(3)
})

test('without access to the lists, as outside of a run, nothing is listed', async () => {
  expect(await (await openProcess(await temporaryFolder(), undefined)).find()).toEqual([])
})

test('an article is gone once: compared with the list that the last run has kept', async () => {
  const folder = await temporaryFolder()
  const source = listSource(listedArticles())
  let served = [{ contentId: 'a', title: 'A' }, { contentId: 'b' }]
  let at = 0
  const lists: IdLists = { now: () => at++, people: async function* () {}, articles: async () => served }
  const gone = async (reading = 'whole') => {
    const { arrival, receive } = await openProcess(folder, lists, source)
    const { file, address: path } = await receive()
    const record = { path, reading, archived: null, ...(await fingerprint(file)) }
    const exports = { ofRun: async () => [record] } as unknown as Ledger['exports']
    return goneArticles({
      ...{ home: folder, job: 'mirror', run: 'run', ledger: { exports } },
      ...{ arrival, sources: [source] },
    })
  }
  const first = await gone()
  expect(first.lines).toEqual([])
  await first.keep()
  served = [{ contentId: 'b' }]
  expect((await gone('selected')).lines).toEqual([])
  const second = await gone()
  expect(second.lines).toEqual(['{"contentId":"a","title":"A"}\n'])
  // Until the lines are delivered, the list before counts.
  expect((await gone()).lines).toHaveLength(1)
  await second.keep()
  expect((await gone()).lines).toEqual([])
})
