/** A job that mirrors the articles of the content service. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { answer, type Fault, PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { createWorkplace, type Workplace } from './command-line.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const LIST = '/content/distribution/article'

interface Article {
  readonly id: string
  readonly title: string
  readonly body: string
}
const article = (id: string, body = `<p>${id}</p>`): Article => ({ id, title: `Title ${id}`, body })

interface Mirror extends Workplace {
  /** What the service has. */
  readonly served: Map<string, Article>
  readonly asked: string[]
  collect(): Promise<{ readonly code: number | null; readonly [key: string]: unknown }>
  folder_(run: unknown): string
}

async function openMirror(
  job: string,
  fault: (path: string) => Fault | undefined = () => undefined,
): Promise<Mirror> {
  const store = await startReferenceStore()
  const served = new Map<string, Article>()
  const asked: string[] = []
  const envelope = (data: readonly object[]): Fault => ({
    ...{ do: 'answer', status: 200 },
    body: { code: 200, message: 'OK', data },
  })
  const proxy = await startFaultProxy(store.url, ({ path, query }) => {
    if (!path.startsWith(LIST)) return PASS
    asked.push(path.slice(LIST.length) + query)
    const failing = fault(path)
    if (failing !== undefined) return failing
    if (path !== LIST) {
      const found = served.get(decodeURIComponent(path.slice(LIST.length + 1)))
      return found === undefined ? answer(404) : envelope([found])
    }
    const items = [...served.values()].map(({ body: _, ...item }) => item)
    const page = new URLSearchParams(query).get('seite')
    return envelope(page === null ? items : items.slice(2 * Number(page), 2 * Number(page) + 2))
  })
  const workplace = await createWorkplace(gatewaySettings(proxy.url))
  await workplace.job(
    'articles',
    `collect: { what: [articles]${job} }\nto: { folder: ../out, only: changed }\n`,
  )
  return {
    ...{ ...workplace, served, asked },
    async collect() {
      const { code, out } = await workplace.waybill('run', 'articles', '--json')
      return { code, ...JSON.parse(out) }
    },
    folder_: (run) => join(workplace.folder, 'out', String(run)),
  }
}

const linesOf = (file: string): unknown[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

it('mirrors by pages what is new or changed, bodies as files, and tells what is gone', async () => {
  const mirror = await openMirror(
    ', articles: { page: { parameter: seite, first: 0 }, filter: { type: text } }',
  )
  for (const id of ['a', 'b/../c', 'd']) mirror.served.set(id, article(id))
  const first = await mirror.collect()
  expect(first).toMatchObject({
    ...{ code: 0, balanced: true },
    people: { asked: 3, collected: 3, unchanged: 0, none: 0, refused: 0, pending: 0 },
  })
  expect(mirror.asked.slice(0, 3)).toEqual(['?type=text&seite=0', '?type=text&seite=1', '?type=text&seite=2'])
  const folder = mirror.folder_(first['run'])
  expect(linesOf(join(folder, 'articles.ndjson'))).toEqual([...mirror.served.values()])
  expect(readdirSync(join(folder, 'bodies'))).toHaveLength(3)
  expect(readFileSync(join(folder, 'bodies/a.html'), 'utf8')).toBe('<p>a</p>')

  // One is changed, one is new, one is gone; one stands in the list and has no detail.
  mirror.served.set('a', article('a', '<p>new</p>')).set('e', article('e')).delete('d')
  const second = await mirror.collect()
  expect(second).toMatchObject({ code: 0, people: { asked: 3, collected: 2, unchanged: 1 } })
  const next = mirror.folder_(second['run'])
  expect(linesOf(join(next, 'articles.ndjson'))).toEqual([mirror.served.get('a'), mirror.served.get('e')])
  expect(linesOf(join(next, 'gone.ndjson'))).toEqual([{ contentId: 'd', title: 'Title d' }])
  expect(JSON.parse(readFileSync(join(next, 'manifest.json'), 'utf8'))).toMatchObject({
    what: ['articles'],
    gone: 1,
  })

  const third = await mirror.collect()
  expect(third).toMatchObject({ code: 0, people: { asked: 3, collected: 0, unchanged: 3 } })
  expect(linesOf(join(mirror.folder_(third['run']), 'gone.ndjson'))).toEqual([])
})

it('asks for a list without pages once, waits for a service that fails, and tells an article without a detail', async () => {
  let failures = 2
  const mirror = await openMirror('', (path) =>
    path === LIST && failures-- > 0
      ? answer(503, { 'retry-after': '0' })
      : path.endsWith('/x')
        ? answer(404)
        : undefined,
  )
  mirror.served.set('a', article('a')).set('x', article('x'))
  const end = await mirror.collect()
  expect(end).toMatchObject({ code: 0, people: { asked: 2, collected: 1, none: 1, refused: 0 } })
  expect(mirror.asked.filter((path) => !path.startsWith('/'))).toEqual(['', '', ''])
})

it('asks again for a refused article with rerun, by the list that its run has read', async () => {
  let isRefused = true
  const mirror = await openMirror('', (path) => (isRefused && path.endsWith('/b') ? answer(400) : undefined))
  for (const id of ['a', 'b']) mirror.served.set(id, article(id))
  const first = await mirror.collect()
  expect(first).toMatchObject({ code: 1, people: { asked: 2, collected: 1, refused: 1 } })
  isRefused = false
  const { code, out } = await mirror.waybill('rerun', String(first['run']), '--json')
  expect([code, JSON.parse(out).people]).toMatchObject([0, { asked: 1, collected: 1 }])
  expect(linesOf(join(mirror.folder_(JSON.parse(out).run), 'gone.ndjson'))).toEqual([])

  // The list of the last whole run counts: a rerun has read a part of an older one.
  mirror.served.delete('b')
  const next = await mirror.collect()
  expect(linesOf(join(mirror.folder_(next['run']), 'gone.ndjson'))).toMatchObject([{ contentId: 'b' }])
})

it.each([
  ['collect: { what: [articles, biometrics] }\nto: { folder: x }\n', 'what'],
  ['collect: { what: [articles] }\npeople: known\nto: { folder: x }\n', 'people'],
  ['collect: { what: [biometrics], articles: {} }\npeople: known\nto: { folder: x }\n', 'articles'],
])('refuses %j', async (job, key) => {
  const workplace = await createWorkplace()
  await workplace.job('wrong', job)
  const { code, err } = await workplace.waybill('run', 'wrong')
  expect([code, err]).toEqual([2, expect.stringContaining(key)])
})
