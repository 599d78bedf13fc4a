/** Exports in S3-compatible storage. Credentials by the default chain of the AWS SDK: environment, profile, role. */
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3'
import { z } from 'zod'
import { WaybillError } from '../../model/errors.ts'
import { exportError, fingerprint } from '../content.ts'
import { receiveFile, withRetries } from './receive-file.ts'
import type { RunningSum } from './s3-answer.ts'
import {
  archiveNames,
  collectListed,
  type Delivery,
  listingOf,
  MAY_NOT_WRITE,
  notArchived,
  notDelivered,
  type RemotePlace,
  type RemoteSource,
} from './source.ts'

/** Limits of a try: without them the SDK waits for ever. */
const CONNECT_MS = 20_000
const SILENT_MS = 60_000

const S3Settings = z.strictObject({
  bucket: z.string().min(1),
  /** Prefix of keys, `in/acme/`. */
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

type Sdk = typeof import('@aws-sdk/client-s3')
type Client = InstanceType<Sdk['S3Client']>
type Bucket = ReturnType<typeof openBucket>

/** Loads the SDK, for jobs that use it. */
export async function createS3Source(place: S3Place, silentMs = SILENT_MS): Promise<RemoteSource> {
  const sdk = await import('@aws-sdk/client-s3')
  const { mismatchOf, runningSum } = await import('./s3-answer.ts')
  const client = connect(sdk, place, silentMs)
  const bucket = openBucket(sdk, client, place)
  return {
    address: bucket.address,
    list: (signal) => listBucket(sdk, bucket, signal),
    async fetch(wanted, file, fetching) {
      const { name, bytes } = wanted
      const what = `reading ${name}`
      const read = reader(sdk, bucket, { mismatchOf, runningSum }, wanted)
      const readFrom = async function* (from: number) {
        try {
          yield* read(from)
        } catch (error) {
          throw bucket.asRefusal(what, name, error)
        }
      }
      try {
        return await receiveFile(file, bytes, bucket.address(name), readFrom, fetching)
      } catch (error) {
        throw bucket.failed(what, name, error)
      }
    },
    archive: createArchiving(sdk, bucket, place),
    put: (name, file) => putObject(sdk, bucket, name, file),
    close: async () => client.destroy(),
  }
}

function connect({ S3Client }: Sdk, { region, endpoint }: S3Place, silentMs: number): Client {
  return new S3Client({
    region,
    // The job alone names the address: AWS_ENDPOINT_URL and profiles do not.
    ignoreConfiguredEndpointUrls: true,
    // Retries happen in `ask`: with the SDK's own retries inside, there would be sixteen.
    maxAttempts: 1,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: silentMs },
    // Other storage seldom has a host name for each bucket, or checksums beyond entity tags.
    ...(endpoint && {
      endpoint,
      forcePathStyle: true,
      requestChecksumCalculation: 'WHEN_REQUIRED' as const,
      responseChecksumValidation: 'WHEN_REQUIRED' as const,
    }),
  })
}

/** Requests to a bucket: each repeated after a failure, but not after a refusal. */
function openBucket({ S3ServiceException }: Sdk, client: Client, place: S3Place) {
  const { bucket } = place
  const prefix = asFolder(place.prefix)
  const address = (name: string): string => `s3://${bucket}/${prefix}${name}`
  const statusOf = (error: unknown): number =>
    (error instanceof S3ServiceException && error.$metadata.httpStatusCode) || 0
  const failed = (what: string, name: string, error: unknown): WaybillError => {
    if (error instanceof WaybillError) return error
    const status = statusOf(error)
    if (status === 412) return changed('The object changed since it was listed.', address(name), error)
    if (status === 404 && name !== '')
      return exportError(address(name), 'The object does not exist.', { cause: error })
    if (status === 403 && what.startsWith(ARCHIVING))
      return notArchived(`s3://${bucket}/${asFolder(place.archive ?? '')}`, MAY_NOT_WRITE, error)
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return new WaybillError(
      'source-unreachable',
      `${address('')} gave an unexpected answer (${what}): ${why}`,
      { cause: error },
    )
  }
  /** Errors of which another try would fail alike. A request with a wrong clock is repeated. */
  const isRefusal = (error: unknown): boolean =>
    error instanceof S3ServiceException &&
    [301, 401, 403, 404, 412, 501].includes(statusOf(error)) &&
    !('clockSkewCorrected' in error.$metadata)
  const asRefusal = (what: string, name: string, error: unknown): unknown =>
    isRefusal(error) ? failed(what, name, error) : error
  const ask = <Answer>(
    what: string,
    name: string,
    question: () => Promise<Answer>,
    signal?: AbortSignal,
  ): Promise<Answer> =>
    withRetries(
      () =>
        question().catch((error: unknown) => {
          throw asRefusal(what, name, error)
        }),
      signal,
    ).catch((error: unknown) => {
      throw failed(what, name, error)
    })
  return { bucket, prefix, client, address, statusOf, failed, asRefusal, ask }
}

const changed = (message: string, file: string, cause?: unknown): WaybillError =>
  exportError(file, message, { code: 'export-changed', cause })

async function listBucket(
  { ListObjectsV2Command }: Sdk,
  { bucket, prefix, client, address, ask, failed }: Bucket,
  signal: AbortSignal | undefined,
) {
  const listed = collectListed(address(''))
  const tokens = new Set<string>()
  const all = { Bucket: bucket, Prefix: prefix, Delimiter: '/' }
  let from: string | undefined
  do {
    const page = new ListObjectsV2Command({ ...all, ContinuationToken: from })
    const { Contents = [], NextContinuationToken } = await ask('listing', '', () => client.send(page), signal)
    listed.add(
      Contents.map(({ Key = '', Size = 0, LastModified, ETag = '' }) => ({
        name: Key,
        bytes: Size,
        modifiedAt: LastModified?.getTime() ?? 0,
        version: ETag,
      })),
    )
    from = NextContinuationToken
    if (from !== undefined && tokens.has(from))
      throw failed('listing', '', new Error('a continuation token came twice'))
    if (from !== undefined) tokens.add(from)
  } while (from !== undefined)
  return listingOf(listed.files, prefix)
}

/** Opens a reader from a byte on. @returns a reader whose second reading continues the first, and its checksum */
function reader(
  { GetObjectCommand }: Sdk,
  { bucket, prefix, client, address }: Bucket,
  { mismatchOf, runningSum }: Pick<typeof import('./s3-answer.ts'), 'mismatchOf' | 'runningSum'>,
  wanted: Delivery,
): (from: number) => AsyncGenerator<Uint8Array> {
  const { name, bytes, version } = wanted
  const other = (why: string): WaybillError =>
    changed(`The object changed since it was listed: ${why}.`, address(name))
  let sum: RunningSum | undefined
  return async function* (from) {
    const object = { Bucket: bucket, Key: `${prefix}${name}`, IfMatch: version }
    const part = from === 0 ? { ChecksumMode: 'ENABLED' as const } : { Range: `bytes=${from}-` }
    const answer = await client.send(new GetObjectCommand({ ...object, ...part }))
    const mismatch = mismatchOf(answer, wanted, from)
    if (mismatch !== undefined) {
      if (answer.Body instanceof Readable) answer.Body.destroy()
      throw other(mismatch)
    }
    if (from === 0) sum = runningSum(answer)
    let length = from
    for await (const chunk of (answer.Body ?? []) as AsyncIterable<Uint8Array>) {
      // Before the last chunk, as the reader stops there.
      sum?.update(chunk)
      length += chunk.length
      if (length === bytes && (await sum?.isRight()) === false) throw other('another checksum')
      yield chunk
    }
  }
}

/** Moves exports to the archive: copies the object, then deletes this version of the object. */
function createArchiving(
  { CopyObjectCommand, DeleteObjectCommand, HeadObjectCommand }: Sdk,
  { bucket, prefix, client, address, statusOf, ask }: Bucket,
  place: S3Place,
): (wanted: Delivery) => Promise<string> {
  const look = async (key: string): Promise<HeadObjectCommandOutput | undefined> => {
    try {
      return await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
    } catch (error) {
      if (statusOf(error) === 404) return undefined
      throw error
    }
  }
  /** Deletes an object if it is this version. No object is there if an earlier try was done and not answered. */
  const remove = async (key: string, version: string): Promise<void> => {
    try {
      await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: version }))
    } catch (error) {
      if (statusOf(error) !== 404) throw error
    }
  }
  /** Amazon S3 compares before it deletes (since 2025). */
  let compares = place.endpoint === undefined
  /** Deletes the copy in the archive under a false condition: storage that ignores it would delete a newer export, too. */
  const assertCompares = async (name: string, copy: string): Promise<void> => {
    if (compares) return
    await ask(`${ARCHIVING} ${name}`, name, async () => {
      try {
        await remove(copy, '"of no object"')
      } catch (error) {
        compares = statusOf(error) === 412
        if (!compares) throw error
      }
    })
    if (compares) return
    throw exportError(
      address(name),
      'The export stays: the storage ignores the condition of a deletion (If-Match) and could delete a newer export.',
      { remedy: 'Remove `archive` from the job, or use storage with conditional deletion.' },
    )
  }
  return async ({ name, bytes, version }) => {
    const from = `${prefix}${name}`
    const what = `${ARCHIVING} ${name}`
    for (const archived of archiveNames(name)) {
      const key = `${asFolder(place.archive ?? '')}${archived}`
      const there = await ask(what, name, () => look(key))
      // A killed process may have copied the object.
      const isCopied = there?.ETag === version && there.ContentLength === bytes
      if (there !== undefined && !isCopied) continue
      const copy = new CopyObjectCommand({
        Bucket: bucket,
        Key: key,
        CopySource: `${bucket}/${from}`.split('/').map(encodeURIComponent).join('/'),
        CopySourceIfMatch: version,
      })
      if (!isCopied) await ask(what, name, () => client.send(copy))
      await assertCompares(name, key)
      await ask(what, name, () => remove(from, version))
      return `s3://${bucket}/${key}`
    }
    throw new Error('names never end')
  }
}

async function putObject(
  { HeadObjectCommand, PutObjectCommand }: Sdk,
  { bucket, prefix, client, address, statusOf, ask }: Bucket,
  name: string,
  file: string,
): Promise<void> {
  const key = `${prefix}${name}`
  /** SHA-256 of the object if it was put there before; undefined for none, and without the right to look. */
  const before = async (): Promise<string | undefined> => {
    try {
      return (await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))).Metadata?.['sha256']
    } catch (error) {
      if ([403, 404].includes(statusOf(error))) return undefined
      throw error
    }
  }
  try {
    const { sha256, bytes } = await fingerprint(file)
    await ask(`writing ${name}`, name, async () => {
      if ((await before()) === sha256) return
      const Body = createReadStream(file)
      const object = { Bucket: bucket, Key: key, Body, ContentLength: bytes, Metadata: { sha256 } }
      await client.send(new PutObjectCommand(object)).finally(() => Body.destroy())
    })
  } catch (error) {
    throw notDelivered(address(name), error)
  }
}

const ARCHIVING = 'archiving'

const silent = (): void => {}

const asFolder = (prefix: string): string => (prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`)
