import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { MedicalRecordsUpsert } from '../../src/gateway/contract/medical-records.ts'
import { client, failureOf, json, type Reply, serve, serveRaw } from './loopback.ts'
import { RECORDS_REQUEST } from './sample-records.ts'

const OTHER = { ...RECORDS_REQUEST, referenceNumber: 'ref-2' }
const returned = (referenceNumber: string) => ({
  referenceNumber,
  patient: { firstName: 'Test', dob: '02/28/1970' },
  authorizationUploadUrl: 'https://store.example/1?signature=x',
  status: { documentAvailable: false, status: 'Received', updated: '07/01/2024 00:00:00', processed: null },
})

describe('an upsert', () => {
  it.each([
    ['all returned', { data: [returned('ref-2'), returned('ref-1')] }, 'accepted', 0],
    ['one not returned', { data: [returned('ref-2')], errors: null }, 'accepted-in-part', 0],
    [
      'an error listed',
      { data: [returned('ref-2'), returned('ref-1')], errors: [{ code: 1, message: 'No.' }] },
      'accepted-in-part',
      1,
    ],
  ])('of two requests, %s', async (_, envelope, expected, errors) => {
    const server = await serve(() => json(200, { code: 200, ...envelope }))
    const answer = await client(server.url).medicalRecords.upsert([RECORDS_REQUEST, OTHER])
    expect(answer).toMatchObject({ status: 200, class: expected, requests: envelope.data })
    expect(answer.errors).toHaveLength(errors)
  })

  it('sends null where a field is to be cleared, and nothing where it is to stay', async () => {
    const server = await serve(() => json(200, { data: [returned('ref-1')] }))
    const change = { referenceNumber: 'ref-1', patient: { zip: null }, provider: { fax: null, npi: '1' } }
    await client(server.url).medicalRecords.upsert([change])
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual([change])
  })

  it('sends what the contract does not know, at every depth, and both spellings where both are given', async () => {
    const server = await serve(() => json(200, { data: [returned('ref-1')] }))
    const { patient, request } = RECORDS_REQUEST
    const given = {
      ...RECORDS_REQUEST,
      notes: 'n',
      patient: { ...patient, middleName: 'M' },
      request: {
        ...request,
        requestSubtype: 'other',
        datesOfService: { ...request.datesOfService, zone: 'z' },
      },
    }
    await client(server.url).medicalRecords.upsert([given])
    const spelling = { requestSubType: 'requestSubtype' } as const
    await client(server.url, { spelling }).medicalRecords.upsert([given])
    expect(server.seen.map(({ body }) => JSON.parse(body))).toEqual([[given], [given]])
  })

  it.each([
    ['no request', []],
    ['no reference number', [RECORDS_REQUEST, { ...OTHER, referenceNumber: '' }]],
  ] satisfies [string, MedicalRecordsUpsert][])('with %s is not sent', async (_, requests) => {
    const server = await serve(() => json(200, { data: [] }))
    await expect(client(server.url).medicalRecords.upsert(requests)).rejects.toMatchObject({
      name: 'ZodError',
    })
    expect(server.seen).toEqual([])
  })

  it.each([
    ['names no request', { code: 200, data: [{}] }],
    ['tells of failure', { code: 500, data: [returned('ref-1')] }],
  ])('is ambiguous where the answer %s', async (_, body) => {
    const server = await serve(() => json(200, body))
    const failure = await failureOf(client(server.url).medicalRecords.upsert([RECORDS_REQUEST]))
    expect(failure.class).toBe('ambiguous')
  })
})

describe('a search', () => {
  const search = {
    page: 1,
    limit: 100,
    filter: [{ patient: { lastName: 'Person' }, request: { type: '', subType: 's' } }],
  }

  it.each([
    ['what was found, beside the query', [{ ...search, results: [returned('ref-1')], total: 1 }]],
    ['nothing found', [{ results: [] }]],
  ])('gives %s', async (_, data) => {
    const server = await serve(() => json(200, { code: 200, data }))
    expect(await client(server.url).medicalRecords.search(search)).toEqual(data[0])
  })

  it('has found nothing where data is empty', async () => {
    const server = await serve(() => json(200, { code: 200, data: [] }))
    expect(await client(server.url).medicalRecords.search(search)).toEqual({ results: [] })
  })

  it.each([
    ['no patient field', { ...search, filter: [{ patient: {}, request: { type: '', subType: 's' } }] }],
    ['half a page', { ...search, page: 0.5 }],
  ])('with %s is not sent', async (_, malformed) => {
    const server = await serve(() => json(200, { data: [] }))
    await expect(client(server.url).medicalRecords.search(malformed)).rejects.toMatchObject({
      name: 'ZodError',
    })
    expect(server.seen).toEqual([])
  })
})

describe('a deletion', () => {
  it.each([
    ['in an array', [returned('ref-1')], returned('ref-1')],
    ['alone', returned('ref-1'), returned('ref-1')],
    ['without a reference number', [{ status: { status: 'Deleted' } }], { status: { status: 'Deleted' } }],
    ['nowhere', [], undefined],
    ['null', null, undefined],
    ['a text', 'Deleted.', 'Deleted.'],
  ])('gives the details where they stand %s', async (_, data, expected) => {
    const server = await serve(() => json(200, { code: 200, data }))
    expect(await client(server.url).medicalRecords.delete('ref-1')).toEqual(expected)
  })
})

describe('the request types', () => {
  const types = ['t-1', 't-2', 't-3'].map((id) => ({
    id,
    name: id,
    requestSubType: [{ id: 's', name: 's', disabled: null }],
  }))
  const [first, second, third] = types

  it.each([
    ['nested', [types]],
    ['flat', types],
    ['nested in several', [[first, second], [third]]],
    ['both', [first, [second, third]]],
  ])('are read %s', async (_, data) => {
    const server = await serve(() => json(200, { code: 200, data }))
    expect(await client(server.url).medicalRecords.requestTypes()).toEqual(types)
  })
})

describe('an upload', () => {
  it('is refused where the address has expired, in the words of the store', async () => {
    const server = await serve(() => ({ status: 403, body: '<Error>Expired</Error>' }))
    const upload = client(server.url).medicalRecords.uploadAuthorization(
      `${server.url}/1?signature=secret`,
      Buffer.from('%PDF-1.7\n%%EOF\n'),
    )
    const failure = await failureOf(upload)
    expect(failure).toMatchObject({ class: 'not-allowed', status: 403, gatewayMessage: undefined })
    expect(failure.message).not.toContain('secret')
  })

  const WHOLE = '%PDF-1.7\n%%EOF\n'
  const MIB_32 = 32 * 1024 ** 2

  it.each([
    ['empty', '', 'does not begin as a PDF'],
    ['a page of another form', `<html>${WHOLE}`, 'does not begin as a PDF'],
    ['cut short', '%PDF-1.7\n1 0 obj', 'is cut short'],
    ['followed by too much', `${WHOLE}${' '.repeat(1_024)}`, 'is cut short'],
    ['too long', `%PDF-${' '.repeat(MIB_32 - 9)}%%EOF`, 'is longer than 32 MiB'],
  ])('of a document that is %s is not begun', async (_, document, why) => {
    const server = await serve(() => ({ status: 200 }))
    const gateway = client(server.url)
    const upload = gateway.medicalRecords.uploadAuthorization(`${server.url}/1`, Buffer.from(document))
    await expect(upload).rejects.toMatchObject({
      name: 'WaybillError',
      code: 'usage-wrong',
      message: expect.stringContaining(why),
    })
    expect(server.seen).toEqual([])
  })

  it.each([
    ['with the marker before the last kilobyte of blanks', `${WHOLE}${' '.repeat(1_018)}`],
    ['of 32 MiB', `%PDF-${' '.repeat(MIB_32 - 10)}%%EOF`],
  ])('of a PDF %s arrives whole', async (_, document) => {
    const server = await serve(() => ({ status: 200 }))
    // A view into a larger piece of memory, as those of small files are.
    const pdf = Buffer.from(`before${document}after`).subarray(6, -5)
    await client(server.url).medicalRecords.uploadAuthorization(`${server.url}/1`, pdf)
    expect(server.seen[0]?.body === document).toBe(true)
  })

  it.each([
    ['refuses', () => json(403, { code: 403, message: 'No.' })],
    ['redirects', (): Reply => ({ status: 302, headers: { location: '/elsewhere' } })],
    ['drops the connection', () => Promise.reject(new Error('dropped'))],
  ])('shows its address nowhere where the store %s', async (_, reply) => {
    const server = await serveRaw(async (request, response) => {
      request.resume()
      try {
        const { status, headers, body } = await reply()
        response.writeHead(status, headers).end(body)
      } catch {
        request.socket.resetAndDestroy()
      }
    })
    const gateway = client(server.url)
    const address = `${server.url}/of-person-7?signature=secret`
    const failure = await failureOf(gateway.medicalRecords.uploadAuthorization(address, Buffer.from(WHOLE)))
    const shown = [
      inspect(failure, { depth: Infinity, showHidden: true }),
      ...[JSON.stringify(failure), String(failure), JSON.stringify(gateway.events)],
    ]
    expect(shown.filter((text) => /secret|of-person-7/.test(text))).toEqual([])
  })
})
