import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { createWorkplace, ended } from '../../../test/cli/command-line.ts'
import { filter, HEADERS, PATH, PDF, roi, startRequester } from './requester-under-test.ts'

/** A gateway with a request, its upload address and a look at its status. */
async function withRequest(options: Parameters<typeof startRequester>[0] = {}) {
  const gateway = await startRequester(options)
  const address = async (): Promise<string> =>
    (await gateway.upsert(roi())).body.data[0]?.authorizationUploadUrl ?? ''
  const status = async () =>
    (await gateway.search(filter({ lastName: 'Person' }))).body.data[0]?.results[0]?.status
  return { ...gateway, first: await address(), address, status }
}

describe('PUT to the upload address', () => {
  it('takes a PDF without a key: the document is available, `updated` moves, the status stays', async () => {
    const { put, first, status, passMinutes } = await withRequest()
    passMinutes(10)
    const answer = await put(first)
    expect([answer.status, answer.body]).toEqual([200, { code: 200, message: '200 OK', data: [] }])
    expect(await status()).toEqual({
      documentAvailable: true,
      status: 'Received',
      updated: '07/01/2024 00:10:00',
      processed: null,
      processedPlatform: null,
      authorizationName: 'id-1.pdf',
    })
  })

  it('lasts 30 minutes to the millisecond, then answers 410 until a further upsert gives a new address', async () => {
    const { put, first, address, status, passMinutes } = await withRequest()
    passMinutes(30 - 1 / 60_000)
    expect((await put(first)).status).toBe(200)
    passMinutes(1 / 60_000)
    const late = await put(first)
    expect([late.status, late.body.code]).toEqual([410, 410])
    expect((await status())?.['updated']).toBe('07/01/2024 00:29:59')
    expect((await put(await address())).status).toBe(200)
  })

  it('lets an older address stay valid for its own lifetime, also once the request is updated', async () => {
    const { put, first, address, passMinutes, status } = await withRequest()
    passMinutes(20)
    const second = await address()
    expect((await put(first)).status).toBe(200)
    passMinutes(15)
    expect([(await put(first)).status, (await put(second)).status]).toEqual([410, 200])
    expect((await status())?.['authorizationName']).toBe('id-2.pdf')
  })

  it('blocks deletion from then on; an update keeps the document', async () => {
    const { put, first, remove, upsert } = await withRequest()
    await put(first)
    expect((await remove('ref-1')).status).toBe(400)
    const { body } = await upsert({ referenceNumber: 'ref-1' })
    expect(body.data[0]?.status).toMatchObject({ documentAvailable: true, authorizationName: 'id-1.pdf' })
  })

  it('answers 404 for an address that was never given or whose request is deleted', async () => {
    const { put, url, first, remove } = await withRequest()
    expect((await put(`${url}/uploads/unknown`)).status).toBe(404)
    await remove('ref-1')
    expect((await put(first)).status).toBe(404)
  })

  const bytes = (length: number) => PDF + '0'.repeat(length - PDF.length)
  it.each<[string, number, string, string, Record<string, string>]>([
    ['octets of no stated kind', 200, PDF, 'application/octet-stream', {}],
    ['a document just under the limit', 200, bytes(10_000), 'application/pdf', {}],
    ['a document over the limit', 413, bytes(10_001), 'application/pdf', {}],
    ['what is not a PDF', 400, 'PK\u0003\u0004', 'application/pdf', {}],
    ['a signature that comes late', 400, ` ${PDF}`, 'application/pdf', {}],
    ['an empty body', 400, '', 'application/pdf', {}],
    ['a document sent as text', 415, PDF, 'text/plain', {}],
    ['JSON', 415, '{}', 'application/json', {}],
    ['a compressed document', 415, PDF, 'application/pdf', { 'content-encoding': 'gzip' }],
  ])('%s: %i', async (_, expected, body, type, headers) => {
    const { put, first, status } = await withRequest({ bodyLimit: 10_000 })
    const answer = await put(first, body, type, headers)
    expect([answer.status, answer.body.code]).toEqual([expected, expected])
    expect((await status())?.['documentAvailable']).toBe(expected === 200)
  })
})

describe('waybill gateway --upload-lifetime', () => {
  it('says how long an address takes a document', async () => {
    const { start } = await createWorkplace()
    const child = start('gateway', '--port', '0', '--json', '--upload-lifetime', '0s')
    const over = ended(child)
    const [line] = child.stdout === null ? [] : await once(child.stdout, 'data')
    const { url } = JSON.parse(String(line))
    const headers = { ...HEADERS, 'content-type': 'application/json' }
    const created = await fetch(url + PATH, { method: 'PATCH', headers, body: JSON.stringify([roi()]) })
    const address = JSON.parse(await created.text()).data[0].authorizationUploadUrl
    const put = { method: 'PUT', headers: { 'content-type': 'application/pdf' }, body: PDF }
    expect((await fetch(address, put)).status).toBe(410)
    child.kill('SIGTERM')
    expect((await over).code).toBe(0)
  })

  it('is refused where it is no duration', async () => {
    const { code, err } = await (await createWorkplace()).waybill('gateway', '--upload-lifetime', 'soon')
    expect([code, err]).toEqual([2, expect.stringContaining('--upload-lifetime must be a number and a unit')])
  })
})
