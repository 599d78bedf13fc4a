import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import {
  type Asking,
  checkCode,
  checkNumber,
  checkSuccess,
  pages,
  readItems,
  UnreadableAnswer,
} from './answer.ts'
import {
  type MedicalRecordsFilter,
  MedicalRecordsFound,
  MedicalRecordsRequestDeleted,
  MedicalRecordsRequestReturned,
  MedicalRecordsRequestType,
  MedicalRecordsSearch,
  MedicalRecordsUpsert,
} from './contract/medical-records.ts'
import {
  documented,
  Envelope,
  type EnvelopeError,
  type Lenient,
  tolerated,
} from './contract/shared-objects.ts'
import type { Transport } from './transport.ts'

/**
 * Spelling of three fields of the medical-records requester. The document has two spellings of each and does not say which is authoritative
 * on input; the defaults follow its samples. Answers are read in either spelling.
 */
export interface Spelling {
  /** Field of a request (default `datesOfService`). */
  readonly datesOfService?: 'datesOfService' | 'dateOfService'
  /** Field of a request (default `requestSubType`). */
  readonly requestSubType?: 'requestSubType' | 'requestSubtype'
  /** Field of a search (default `subTyp`). */
  readonly subType?: 'subType' | 'subTyp'
}

/** Renames the fields of a block from the contract's names to the wire's. */
function renamed(block: object, names: Readonly<Record<string, string>>): object {
  const wanted = (name: string): string => names[name] ?? name
  return Object.fromEntries(
    // If the caller gives both spellings, both are sent unchanged.
    Object.entries(block).map(([name, value]) => [wanted(name) in block ? name : wanted(name), value]),
  )
}

const UpsertEnvelope = Envelope(MedicalRecordsRequestReturned)
const SearchEnvelope = Envelope(MedicalRecordsFound)
/** "data = the deleted request's details": an array or not is undocumented, and the deletion stands in both cases. */
const DeletionEnvelope = Envelope(z.unknown()).extend({
  data: z
    .union([
      z.array(MedicalRecordsRequestDeleted).transform(([first]) => first),
      tolerated(MedicalRecordsRequestDeleted),
    ])
    .optional(),
})
/** "data = nested array of request type items"; accepts a flat array too. */
const TypesEnvelope = Envelope(z.union([z.array(MedicalRecordsRequestType), MedicalRecordsRequestType]))

const Named = z.looseObject({ reference: z.string() })

/** Requests per page, from the sample. */
const PER_PAGE = 100

/** Readable 2xx answer to an upsert. */
export interface UpsertAnswer {
  readonly status: number
  /** `accepted` if the answer has as many requests as sent, and no errors. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** Requests in the order of the answer; match them by `referenceNumber`. Dates are MM/DD/YYYY (`DateReturned`). */
  readonly requests: readonly MedicalRecordsRequestReturned[]
  /** Errors in an answer of success. They may contain health data. */
  readonly errors: readonly EnvelopeError[]
}

/**
 * Medical-records requests (section "Medical-records requester"), called with the requester's API key alone. Calls never send anything that
 * violates the contract: they throw a ZodError.
 */
export type MedicalRecords = ReturnType<typeof createMedicalRecords>

export function createMedicalRecords(transport: Transport, spelling: Spelling = {}) {
  const {
    datesOfService = 'datesOfService',
    requestSubType = 'requestSubType',
    subType = 'subTyp',
  } = spelling
  /** Reads a page of matching requests. The rest of the answer repeats the search. @throws GatewayError, ZodError */
  const search = async (
    wanted: z.infer<typeof MedicalRecordsSearch>,
  ): Promise<z.infer<typeof MedicalRecordsFound>> => {
    const { filter, ...rest } = MedicalRecordsSearch.parse(wanted)
    const body = {
      ...rest,
      filter: filter.map((one) => ({ ...one, request: renamed(one.request, { subType }) })),
    }
    return transport.send({ endpoint: 'searchMedicalRecords', body: JSON.stringify(body) }, (answer) => {
      const found = readItems(answer, SearchEnvelope)[0] ?? { results: [] }
      checkNumber(rest.limit, found.results)
      const sought = new Set(filter.map(({ patient }) => patient.reference || undefined))
      const named = found.results.map(({ patient }) => documented(Named, patient)?.reference || undefined)
      if (!sought.has(undefined) && named.some((one) => one !== undefined && !sought.has(one)))
        throw new UnreadableAnswer('it holds requests of another account')
      return found
    })
  }
  return {
    /**
     * Creates the requests with a new `referenceNumber` and updates the others: a value replaces, null clears, an omitted field keeps its
     * value. A new request must also be a `MedicalRecordsRequestSent`; only the gateway can check this. Dates are YYYY-MM-DD. @throws
     * GatewayError, ZodError
     */
    upsert: (requests: MedicalRecordsUpsert): Promise<UpsertAnswer> =>
      upsert(transport, { datesOfService, requestSubType }, requests),
    search,
    /**
     * Lists all matching requests, page by page. @param asking makes each call, with retries
     * @throws GatewayError, ZodError
     */
    requests: (
      filter: readonly z.infer<typeof MedicalRecordsFilter>[],
      asking: Asking = (ask) => ask(),
    ): AsyncGenerator<MedicalRecordsRequestReturned> =>
      pages(
        (page) => asking(async () => (await search({ page, limit: PER_PAGE, filter: [...filter] })).results),
        { full: PER_PAGE, keyOf: ({ referenceNumber }) => referenceNumber },
      ),
    /**
     * Deletes an unprocessed request. Returns its details if the answer has them.
     *
     * @throws GatewayError `refused` if the request does not exist or is processed
     */
    delete: async (
      referenceNumber: string,
    ): Promise<Lenient<z.infer<typeof MedicalRecordsRequestDeleted>> | undefined> =>
      transport.send({ endpoint: 'deleteMedicalRecords', parameters: { referenceNumber } }, (answer) => {
        const envelope = answer.read(DeletionEnvelope)
        checkSuccess(envelope, answer)
        return envelope.data ?? undefined
      }),
    /** Lists the request types. @throws GatewayError */
    requestTypes: (): Promise<readonly MedicalRecordsRequestType[]> =>
      transport.send({ endpoint: 'listRequestTypes' }, (answer) => readItems(answer, TypesEnvelope).flat()),
    /**
     * Uploads the authorization, a PDF, to the `authorizationUploadUrl` of an upsert, within 30 minutes, without key and token. Status and
     * body of the answer are not documented: any 2xx counts.
     *
     * @param hosts allowed besides the gateway's host and its subdomains
     * @throws GatewayError; WaybillError `usage-wrong` for another host, for plain http, or for an incomplete PDF
     */
    uploadAuthorization: (
      authorizationUploadUrl: string,
      pdf: Uint8Array,
      hosts?: readonly string[],
    ): Promise<void> => uploadAuthorization(transport, authorizationUploadUrl, pdf, hosts),
  }
}

/** @param keys as the gateway spells them */
async function upsert(
  transport: Transport,
  keys: { readonly datesOfService: string; readonly requestSubType: string },
  requests: MedicalRecordsUpsert,
): Promise<UpsertAnswer> {
  const body = MedicalRecordsUpsert.parse(requests).map((one) =>
    one.request === undefined ? one : { ...one, request: renamed(one.request, keys) },
  )
  return transport.send({ endpoint: 'upsertMedicalRecords', body: JSON.stringify(body) }, (answer) => {
    const envelope = answer.read(UpsertEnvelope)
    checkCode(envelope, answer)
    const { data, errors } = envelope
    checkNumber(body.length, data, errors ?? [])
    const complete = data.length === body.length && (errors ?? []).length === 0
    return {
      status: answer.status,
      class: complete ? 'accepted' : 'accepted-in-part',
      requests: data,
      errors: errors ?? [],
    }
  })
}

async function uploadAuthorization(
  transport: Transport,
  address: string,
  pdf: Uint8Array,
  hosts: readonly string[] | undefined,
): Promise<void> {
  // An upload starts the processing of the request, and cannot be undone.
  const fault = authorizationFault(pdf)
  if (fault !== undefined)
    throw new WaybillError('usage-wrong', `The authorization ${fault}.`, {
      remedy: 'Send the whole PDF, of 32 MiB at most.',
    })
  return transport.send({ endpoint: 'uploadAuthorization', address, hosts, body: pdf }, () => undefined)
}

/** Maximum PDF in bytes. The interface has no limit; a scan of many pages is a tenth of this. */
export const LONGEST_PDF = 32 * 1024 ** 2
/** ISO 32000-1, section 7.5.5: the marker is in the last line; readers search the last 1,024 bytes. */
const END_MARKER = '%%EOF'
const END_BYTES = 1_024

/** Returns the problem of an authorization document; undefined if it can be sent. */
export function authorizationFault(pdf: Uint8Array): string | undefined {
  const bytes = Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength)
  if (bytes.length > LONGEST_PDF) return 'is longer than 32 MiB'
  if (!bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'does not begin as a PDF'
  if (!bytes.subarray(-END_BYTES).includes(END_MARKER)) return 'is cut short: the end of the PDF is missing'
  return undefined
}
