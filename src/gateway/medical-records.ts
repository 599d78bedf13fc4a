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
 * How three fields of the medical-records requester are sent. The document spells each in two ways and does not say which
 * is authoritative on input; the defaults are those of its samples. Answers are read in either spelling.
 */
export interface Spelling {
  /** Of a request (default `datesOfService`). */
  readonly datesOfService?: 'datesOfService' | 'dateOfService'
  /** Of a request (default `requestSubType`). */
  readonly requestSubType?: 'requestSubType' | 'requestSubtype'
  /** Of a search (default `subTyp`). */
  readonly subType?: 'subType' | 'subTyp'
}

/** A block under the keys of the wire, by the contract's names for them. */
function renamed(block: object, names: Readonly<Record<string, string>>): object {
  const wanted = (name: string): string => names[name] ?? name
  return Object.fromEntries(
    // Where the caller gives both spellings, both are sent as they are.
    Object.entries(block).map(([name, value]) => [wanted(name) in block ? name : wanted(name), value]),
  )
}

const UpsertEnvelope = Envelope(MedicalRecordsRequestReturned)
const SearchEnvelope = Envelope(MedicalRecordsFound)
/** "data = the deleted request's details": whether in an array is not documented, and the deletion stands either way. */
const DeletionEnvelope = Envelope(z.unknown()).extend({
  data: z
    .union([
      z.array(MedicalRecordsRequestDeleted).transform(([first]) => first),
      tolerated(MedicalRecordsRequestDeleted),
    ])
    .optional(),
})
/** "data = nested array of request type items"; a flat one is borne too. */
const TypesEnvelope = Envelope(z.union([z.array(MedicalRecordsRequestType), MedicalRecordsRequestType]))

const Named = z.looseObject({ reference: z.string() })

/** Requests on a page, as the sample has it. */
const PER_PAGE = 100

/** A readable 2xx answer to an upsert. */
export interface UpsertAnswer {
  readonly status: number
  /** `accepted` where as many requests came back as were sent and no error is listed. */
  readonly class: 'accepted' | 'accepted-in-part'
  /** In the order of the answer: they are told apart by `referenceNumber`. Dates are MM/DD/YYYY (`DateReturned`). */
  readonly requests: readonly MedicalRecordsRequestReturned[]
  /** Errors listed in an answer of success. They may repeat health data. */
  readonly errors: readonly EnvelopeError[]
}

/**
 * Requests for medical records (section "Medical-records requester"), called with the requester's API key alone. What is
 * not as the contract has it is never sent: the calls that send something throw a ZodError for it.
 */
export type MedicalRecords = ReturnType<typeof createMedicalRecords>

export function createMedicalRecords(transport: Transport, spelling: Spelling = {}) {
  const {
    datesOfService = 'datesOfService',
    requestSubType = 'requestSubType',
    subType = 'subTyp',
  } = spelling
  /** One page of the requests that match; the rest of the answer repeats the search. @throws GatewayError, ZodError */
  const search = async (wanted: MedicalRecordsSearch): Promise<MedicalRecordsFound> => {
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
     * Creates the requests whose `referenceNumber` is new and updates the others: what is sent is replaced, null clears, what
     * is omitted keeps its value. One that is new must also be a `MedicalRecordsRequestSent`; only the gateway can tell.
     * Dates are YYYY-MM-DD. @throws GatewayError, ZodError
     */
    async upsert(requests: MedicalRecordsUpsert): Promise<UpsertAnswer> {
      const keys = { datesOfService, requestSubType }
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
    },
    search,
    /**
     * All requests that match, page after page. @param asking makes each of the calls, where it is to be made again after a failure
     * @throws GatewayError, ZodError
     */
    requests: (
      filter: readonly MedicalRecordsFilter[],
      asking: Asking = (ask) => ask(),
    ): AsyncGenerator<MedicalRecordsRequestReturned> =>
      pages(
        (page) => asking(async () => (await search({ page, limit: PER_PAGE, filter: [...filter] })).results),
        { full: PER_PAGE, keyOf: ({ referenceNumber }) => referenceNumber },
      ),
    /**
     * Deletes a request that is not processed yet, and gives its details where the answer holds them.
     * @throws GatewayError: `refused` where there is no such request, or it is processed
     */
    delete: async (referenceNumber: string): Promise<Lenient<MedicalRecordsRequestDeleted> | undefined> =>
      transport.send({ endpoint: 'deleteMedicalRecords', parameters: { referenceNumber } }, (answer) => {
        const envelope = answer.read(DeletionEnvelope)
        checkSuccess(envelope, answer)
        return envelope.data ?? undefined
      }),
    /** What can be asked for. @throws GatewayError */
    requestTypes: (): Promise<readonly MedicalRecordsRequestType[]> =>
      transport.send({ endpoint: 'listRequestTypes' }, (answer) => readItems(answer, TypesEnvelope).flat()),
    /**
     * Sends the authorization, a PDF, to the `authorizationUploadUrl` of an upsert, within 30 minutes of it, with neither key
     * nor token. Status and body of the answer are not documented: any 2xx counts.
     * @param hosts allowed beside the gateway's own and those below
     * @throws GatewayError; WaybillError `usage-wrong`: another host, or no https; what is no whole PDF
     */
    async uploadAuthorization(
      authorizationUploadUrl: string,
      pdf: Uint8Array,
      hosts?: readonly string[],
    ): Promise<void> {
      // A request is processed by it, and cannot be withdrawn afterwards.
      const fault = authorizationFault(pdf)
      if (fault !== undefined)
        throw new WaybillError('usage-wrong', `The authorization ${fault}.`, {
          remedy: 'Send the whole PDF, of 32 MiB at most.',
        })
      const address = authorizationUploadUrl
      return transport.send({ endpoint: 'uploadAuthorization', address, hosts, body: pdf }, () => undefined)
    },
  }
}

/** The interface names no limit; a scan of many pages is a tenth of this. */
export const LONGEST_PDF = 32 * 1024 ** 2
/** ISO 32000-1, section 7.5.5: the marker stands in the last line, which readers look for in the last 1,024 bytes. */
const END_MARKER = '%%EOF'
const END_BYTES = 1_024

/** What is wrong with a document that is to be an authorization; undefined: it can be sent. */
export function authorizationFault(pdf: Uint8Array): string | undefined {
  const bytes = Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength)
  if (bytes.length > LONGEST_PDF) return 'is longer than 32 MiB'
  if (!bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'does not begin as a PDF'
  if (!bytes.subarray(-END_BYTES).includes(END_MARKER)) return 'is cut short: the end of the PDF is missing'
  return undefined
}
