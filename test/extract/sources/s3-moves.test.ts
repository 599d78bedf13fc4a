/** Objects on their way to the archive, and refusals of the storage: by how many requests, and what is left where. */
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createS3Source, S3Written } from '../../../src/extract/sources/s3.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { BUCKET, startS3Server } from './s3-server.ts'

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'of-the-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-tests')
  return () => vi.unstubAllEnvs()
})

const [READ, OTHER] = ['id\n7\n', 'id\n8\n'].map((text) => Buffer.from(text))

async function open(objects: Readonly<Record<string, Buffer | undefined>>, bucket = BUCKET) {
  const server = await startS3Server()
  onTestFinished(() => server.stop())
  for (const [key, body] of Object.entries(objects)) server.put(key, body ?? Buffer.of())
  const place = { endpoint: server.endpoint, region: 'test-1', prefix: 'in', archive: 'done' }
  const source = await createS3Source({ ...place, bucket })
  onTestFinished(() => source.close())
  const there = (): Record<string, string> =>
    Object.fromEntries([...server.objects].map(([key, { body }]) => [key, body.toString()]))
  return { server, source, there }
}

async function listed({ source }: Awaited<ReturnType<typeof open>>) {
  return (await source.list()).files[0] ?? expect.fail('nothing is listed')
}

const asked = (requests: readonly string[], method: string): number =>
  requests.filter((one) => one.startsWith(`${method} `)).length

test.each([
  ['none of its name', {}, 'done/a.csv', 1, {}],
  ['a copy that a killed process made', { 'done/a.csv': READ }, 'done/a.csv', 0, {}],
  ['another object of its name', { 'done/a.csv': OTHER }, 'done/a.csv.1', 1, { 'done/a.csv': OTHER }],
  [
    'another one, and a copy behind it',
    { 'done/a.csv': OTHER, 'done/a.csv.1': READ },
    'done/a.csv.1',
    0,
    { 'done/a.csv': OTHER },
  ],
])('in an archive that has %s', async (_, archive, to, copies, others) => {
  const opened = await open({ 'in/a.csv': READ, ...archive })
  expect(await opened.source.archive(await listed(opened))).toBe(`s3://${BUCKET}/${to}`)
  const texts = Object.entries({ ...others, [to]: READ }).map(([key, body]) => [key, String(body)])
  expect(opened.there()).toEqual(Object.fromEntries(texts))
  expect(asked(opened.server.requests, 'PUT')).toBe(copies)
})

test('storage that would delete a newer object keeps the export, and says so', async () => {
  const opened = await open({ 'in/a.csv': READ })
  const delivery = await listed(opened)
  opened.server.compares = false
  await expect(opened.source.archive(delivery)).rejects.toMatchObject({
    message: expect.stringContaining('ignores the condition'),
    remedy: expect.stringContaining('archive'),
  })
  expect(opened.there()).toMatchObject({ 'in/a.csv': String(READ) })
})

test('storage that refuses to compare keeps the export: who may not delete has not compared', async () => {
  const opened = await open({ 'in/a.csv': READ })
  const delivery = await listed(opened)
  let refused = 0
  // Refuses what would show whether the storage compares, and nothing else.
  opened.server.onDelete = () => (refused++ === 0 ? 'refuse' : undefined)
  await expect(opened.source.archive(delivery)).rejects.toMatchObject({ code: expect.any(String) })
  expect(opened.there()).toMatchObject({ 'in/a.csv': String(READ) })
})

test.each([
  ['is gone', undefined, 'export-unreadable'],
  ['is another one', OTHER, 'export-changed'],
])('an object that %s since it was listed is asked for once', async (_, now, code) => {
  const opened = await open({ 'in/a.csv': READ })
  const delivery = await listed(opened)
  if (now === undefined) opened.server.objects.delete('in/a.csv')
  else opened.server.put('in/a.csv', now)
  const before = asked(opened.server.requests, 'GET')
  const file = join(await temporaryFolder(), 'a.csv')
  await expect(opened.source.fetch(delivery, file)).rejects.toMatchObject({ code })
  expect(asked(opened.server.requests, 'GET') - before).toBe(1)
})

test('a bucket that is not there is asked for once', async () => {
  const { server, source } = await open({}, 'other')
  await expect(source.list()).rejects.toMatchObject({ code: 'source-unreachable' })
  expect(server.requests).toHaveLength(1)
})

test.each([
  ['https://storage.example', true],
  ['http://127.0.0.1:9000', true],
  ['http://localhost:9000', true],
  ['http://[::1]:9000', true],
  ['http://storage.example', false],
  ['http://127.0.0.1.example', false],
  ['ftp://127.0.0.1', false],
  ['storage.example', false],
])('the address %s of storage is taken: %s', (endpoint, isTaken) => {
  const settings = { endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in' }
  expect(S3Written.safeParse({ s3: settings }).success).toBe(isTaken)
})
