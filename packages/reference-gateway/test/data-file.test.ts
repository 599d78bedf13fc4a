import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { biometric, NOW, of, startGateway } from './gateway-under-test.ts'
import { roi, startRequester } from './requester-under-test.ts'
import { startTest } from './test-taker.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reference-gateway-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

it('keeps accounts and records in the data file', async () => {
  const dataFile = join(folder, 'gateway.db')
  const before = await startGateway({ dataFile })
  const id = await before.register('p-1')
  await before.call('POST', '/health-profile/biometrics', [biometric()])
  await before.close()
  expect(await readdir(folder)).toEqual(['gateway.db'])

  const after = await startGateway({ dataFile, makeId: () => 'later' })
  expect(await after.counts()).toMatchObject({ account: 1, biometric: 1, condition: 0, careTeam: 0 })
  expect(await after.register('p-1')).toBe(id)
  expect((await after.call('GET', `/health-profile/biometrics?${of('p-1')}`)).body.data).toHaveLength(1)
})

it('keeps answers and results in it', async () => {
  const dataFile = join(folder, 'gateway.db')
  const before = await startTest({ dataFile })
  await before.answerUpTo('4.1')
  const path = `/bioage/result?${of('p-1')}`
  const result = await before.call('GET', path)
  await before.close()
  const after = await startTest({ dataFile, clock: () => NOW + 1, makeId: () => 'later' })
  expect(await after.call('GET', path)).toMatchObject({ status: 200, text: result.text })
})

it('keeps requests, documents and upload addresses in it', async () => {
  const dataFile = join(folder, 'gateway.db')
  const before = await startRequester({ dataFile })
  const { body } = await before.upsert(roi(), roi({ referenceNumber: 'ref-2' }))
  const [first = '', second = ''] = body.data.map(({ authorizationUploadUrl }) => authorizationUploadUrl)
  await before.put(first)
  await before.close()

  const after = await startRequester({ dataFile, makeId: () => 'later' })
  expect(await after.held()).toEqual(['ref-1', 'ref-2'])
  expect((await after.remove('ref-1')).status).toBe(400)
  expect((await after.put(after.url + new URL(second).pathname)).status).toBe(200)
  expect((await after.remove('ref-2')).status).toBe(400)
  expect((await after.upsert({ referenceNumber: 'ref-1', patient: { zip: null } })).status).toBe(200)
})

it('refuses a file that it did not make, naming it', async () => {
  const dataFile = join(folder, 'other.db')
  await writeFile(dataFile, 'this is not a database, but long enough to be taken for one'.repeat(100))
  await expect(startGateway({ dataFile })).rejects.toMatchObject({
    code: 'usage-wrong',
    place: { file: dataFile },
  })
})

it('refuses a folder that is not there, and a port that is taken', async () => {
  const dataFile = join(folder, 'missing', 'gateway.db')
  await expect(startGateway({ dataFile })).rejects.toMatchObject({ code: 'usage-wrong' })
  const { url } = await startGateway()
  const port = Number(new URL(url).port)
  await expect(startGateway({ port })).rejects.toMatchObject({ code: 'usage-wrong' })
})
