/** Exports in S3-compatible storage. Credentials come by the default chain of the AWS SDK: environment, profile, role. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { WaybillError } from '../../model/errors.ts'
import { receiveFile, withRetries } from './receive-file.ts'
import {
  archiveNames,
  type ListedFile,
  listingOf,
  notDelivered,
  type RemotePlace,
  type RemoteSource,
} from './source.ts'

/** Of one try: storage that has not taken the connection, or has said nothing, for so long is gone. By default the SDK waits for ever. */
const CONNECT_MS = 20_000
const SILENT_MS = 60_000

const S3Settings = z.strictObject({
  bucket: z.string().min(1),
  /** What stands before a name in a key, `in/acme/`; empty: nothing. */
  prefix: z.string().default(''),
  region: z.string().min(1),
  /** Storage other than Amazon's. */
  endpoint: z
    .string()
    .refine(isSafeAddress, 'must be an https address; plain http is for loopback addresses only')
    .optional(),
})

/** `from` and `to` of a job: a prefix of a bucket. */
export const S3Written = z.strictObject({ s3: S3Settings })

export const s3Place = (place: S3Place): RemotePlace => ({
  shown: `s3://${place.bucket}/${place.prefix}`,
  open: () => createS3Source(place),
})

interface S3Place extends z.infer<typeof S3Settings> {
  /** Prefix in the same bucket. */
  readonly archive?: string | undefined
}

function isSafeAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url?.protocol === 'https:') return true
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
}

/** The SDK is loaded where a job uses it, and only there. */
export async function createS3Source(place: S3Place, silentMs = SILENT_MS): Promise<RemoteSource> {
  const {
    CopyObjectCommand,
    DeleteObjectCommand,
    GetObjectCommand,
    HeadObjectCommand,
    ListObjectsV2Command,
    PutObjectCommand,
    S3Client,
    S3ServiceException,
  } = await import('@aws-sdk/client-s3')
  const { bucket, region, endpoint } = place
  const prefix = asFolder(place.prefix)
  const address = (name: string): string => `s3://${bucket}/${prefix}${name}`
  const client = new S3Client({
    region,
    // What is read and written goes where the job says, whatever AWS_ENDPOINT_URL and profiles name.
    ignoreConfiguredEndpointUrls: true,
    // What is tried again is tried again by `ask` alone: the SDK's tries within ours would be sixteen.
    maxAttempts: 1,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: silentMs },
    // Other storage has seldom a host name for each bucket, nor checksums beyond its entity tags.
    ...(endpoint && {
      endpoint,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED' as const,
      responseChecksumValidation: 'WHEN_REQUIRED' as const,
    }),
  })
  const failed = (what: string, name: string, error: unknown): WaybillError => {
    if (error instanceof WaybillError) return error
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
    const place = { file: address(name) }
    if (status === 412)
      return new WaybillError('export-changed', 'The object is not the version that was listed.', {
        place,
        cause: error,
      })
    if (status === 404 && name !== '')
      return new WaybillError('export-unreadable', 'The object is not there.', { place, cause: error })
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return new WaybillError(
      'source-unreachable',
      `${address('')} does not answer as it should (${what}): ${why}`,
      { cause: error },
    )
  }
  /** No credentials, no rights, no bucket, another version: another try finds the same. By a wrong clock the SDK goes no second time. */
  const isRefusal = (error: unknown): boolean =>
    error instanceof S3ServiceException &&
    [301, 401, 403, 404, 412].includes(error.$metadata.httpStatusCode ?? 0) &&
    !('clockSkewCorrected' in error.$metadata)
  const asRefusal = (what: string, name: string, error: unknown): unknown =>
    isRefusal(error) ? failed(what, name, error) : error
  const ask = <Answer>(what: string, name: string, question: () => Promise<Answer>): Promise<Answer> =>
    withRetries(() =>
      question().catch((error: unknown) => {
        throw asRefusal(what, name, error)
      }),
    ).catch((error: unknown) => {
      throw failed(what, name, error)
    })
  const isTaken = async (key: string): Promise<boolean> => {
    try {
      await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
      return true
    } catch (error) {
      if (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404) return false
      throw error
    }
  }
  /** Of an object that was put there so. Who may not look is told what one who finds nothing is. */
  const sumOf = async (key: string): Promise<string | undefined> => {
    try {
      return (await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))).Metadata?.['sha256']
    } catch (error) {
      const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
      if (status === 404 || status === 403) return undefined
      throw error
    }
  }
  async function* read(key: string, version: string, from: number): AsyncGenerator<Uint8Array> {
    const { Body } = await client.send(
      new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        IfMatch: version,
        ...(from === 0 ? {} : { Range: `bytes=${from}-` }),
      }),
    )
    if (Body !== undefined) yield* Body as AsyncIterable<Uint8Array>
  }

  return {
    address,
    async list() {
      const found: ListedFile[] = []
      const all = { Bucket: bucket, Prefix: prefix, Delimiter: '/' }
      let from: string | undefined
      do {
        const page = new ListObjectsV2Command({ ...all, ContinuationToken: from })
        const { Contents = [], NextContinuationToken } = await ask('listing', '', () => client.send(page))
        for (const { Key = '', Size = 0, LastModified, ETag = '' } of Contents)
          found.push({ name: Key, bytes: Size, modifiedAt: LastModified?.getTime() ?? 0, version: ETag })
        from = NextContinuationToken
      } while (from !== undefined)
      return listingOf(found, prefix)
    },
    async fetch({ name, bytes, version }, file, signal) {
      const readFrom = async function* (from: number) {
        try {
          yield* read(`${prefix}${name}`, version, from)
        } catch (error) {
          throw asRefusal(`reading ${name}`, name, error)
        }
      }
      try {
        return await receiveFile(file, bytes, address(name), readFrom, signal)
      } catch (error) {
        throw failed(`reading ${name}`, name, error)
      }
    },
    async archive({ name, version }) {
      const from = `${prefix}${name}`
      const what = `archiving ${name}`
      for (const archived of archiveNames(name)) {
        const key = `${asFolder(place.archive ?? '')}${archived}`
        if (await ask(what, name, () => isTaken(key))) continue
        const copy = new CopyObjectCommand({
          Bucket: bucket,
          Key: key,
          CopySource: `${bucket}/${from}`.split('/').map(encodeURIComponent).join('/'),
          CopySourceIfMatch: version,
        })
        await ask(what, name, () => client.send(copy))
        const removal = new DeleteObjectCommand({ Bucket: bucket, Key: from })
        await ask(what, name, () => client.send(removal))
        return `s3://${bucket}/${key}`
      }
      throw new Error('names never end')
    },
    async put(name, file) {
      const key = `${prefix}${name}`
      try {
        const { size } = await stat(file)
        const sum = createHash('sha256')
        await pipeline(createReadStream(file), sum)
        const sha256 = sum.digest('hex')
        await ask(`writing ${name}`, name, async () => {
          if ((await sumOf(key)) === sha256) return
          const Body = createReadStream(file)
          const object = { Bucket: bucket, Key: key, Body, ContentLength: size, Metadata: { sha256 } }
          await client.send(new PutObjectCommand(object)).finally(() => Body.destroy())
        })
      } catch (error) {
        throw notDelivered(address(name), error)
      }
    },
    close: async () => client.destroy(),
  }
}

const silent = (): void => {}

const asFolder = (prefix: string): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`)
