/** S3-compatible storage in memory, on loopback: one bucket, path-style addresses, signed requests alone. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

interface StoredObject {
  readonly body: Buffer
  readonly etag: string
  readonly at: Date
  /** SHA-256 that whoever put it there has written beside it. */
  readonly sha256?: string | undefined
}

/** What an answer to a GET of an object says in place of the truth. */
interface Lie {
  readonly status?: number
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

export interface S3Server {
  readonly endpoint: string
  readonly objects: Map<string, StoredObject>
  put(key: string, body: Uint8Array, sha256?: string): void
  /** Called with every GET of an object: it may change objects, or say after how many bytes the answer breaks off, or nothing more comes. */
  onGet:
    | ((key: string, from: number) => { breakAfter?: number; goesSilent?: true; lie?: Lie } | undefined)
    | undefined
  /** Called before an object is deleted; may change objects, keep the answer back, or refuse. */
  onDelete: ((key: string) => 'unanswered' | 'refuse' | undefined) | undefined
  /** Headers of a checksum that the storage has of the content, where it is asked for one. */
  checksum: ((body: Uint8Array) => Readonly<Record<string, string>>) | undefined
  /** Whether a deletion that names an entity tag, and an answer to a request for another version, is refused. */
  compares: boolean
  /** Called with every PUT of an object, when so many bytes of it have come; what is done with it then. */
  onPut: ((key: string, bytes: number) => 'cut' | 'refuse' | undefined) | undefined
  readonly requests: string[]
  /** Whether a request is never answered (`GET in/a.csv`). */
  isSilent: ((request: string) => boolean) | undefined
  /** Keys that every listing has besides, wherever they lie. */
  alsoLists: readonly string[]
  /** The continuation token that a page is given, whatever else there is. @param page from 1 */
  nextToken: ((page: number) => string) | undefined
  /** Size that an object is listed with, and that its body then never ends before: it comes a little at a time. */
  trickles: ReadonlyMap<string, number>
  stop(): Promise<void>
}

export const BUCKET = 'deliveries'
const KEYS_A_PAGE = 2
const SIGNED = /^AWS4-HMAC-SHA256 Credential=[^,]+, ?SignedHeaders=[^,]+, ?Signature=[0-9a-f]{64}$/

export async function startS3Server(): Promise<S3Server> {
  const server = createServer((request, response) => {
    serve(started, request, response).catch((error: Error) => refuse(response, 500, error.message))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const started: S3Server = {
    endpoint: `http://127.0.0.1:${port}`,
    objects: new Map(),
    put(key, body, sha256) {
      const etag = `"${createHash('md5').update(body).digest('hex')}"`
      started.objects.set(key, { body: Buffer.from(body), etag, at: new Date(), sha256 })
    },
    onGet: undefined,
    onDelete: undefined,
    checksum: undefined,
    compares: true,
    onPut: undefined,
    requests: [],
    isSilent: undefined,
    alsoLists: [],
    nextToken: undefined,
    trickles: new Map(),
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return started
}

async function serve(s3: S3Server, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', s3.endpoint)
  const [bucket, ...rest] = url.pathname.slice(1).split('/').map(decodeURIComponent)
  const key = rest.join('/')
  const asked = `${request.method} ${key}`
  s3.requests.push(asked)
  if (s3.isSilent?.(asked)) return
  if (!SIGNED.test(request.headers.authorization ?? '')) return refuse(response, 403, 'AccessDenied')
  if (bucket !== BUCKET) return refuse(response, 404, 'NoSuchBucket')
  if (request.method === 'GET' && key === '') return list(s3, url.searchParams, response)
  if (request.method === 'DELETE') return remove(s3, key, request, response)
  const source = request.headers['x-amz-copy-source']
  if (request.method === 'PUT' && typeof source === 'string') return copy(s3, key, source, request, response)
  if (request.method === 'PUT') return receive(s3, key, request, response)
  const object = s3.objects.get(key)
  if (object === undefined) return refuse(response, 404, request.method === 'HEAD' ? '' : 'NoSuchKey')
  const headers = {
    ...{ etag: object.etag, 'last-modified': object.at.toUTCString() },
    ...(object.sha256 === undefined ? {} : { 'x-amz-meta-sha256': object.sha256 }),
  }
  if (request.method === 'HEAD')
    response.writeHead(200, { ...headers, 'content-length': object.body.length }).end()
  else get(s3, key, request, response)
}

function remove(s3: S3Server, key: string, { headers }: IncomingMessage, response: ServerResponse): void {
  const fate = s3.onDelete?.(key)
  if (fate === 'refuse') {
    refuse(response, 403, 'AccessDenied')
    return
  }
  const wanted = headers['if-match']
  const there = s3.objects.get(key)
  if (s3.compares && wanted !== undefined && there?.etag !== wanted) {
    refuse(
      response,
      there === undefined ? 404 : 412,
      there === undefined ? 'NoSuchKey' : 'PreconditionFailed',
    )
    return
  }
  s3.objects.delete(key)
  if (fate === 'unanswered') response.destroy()
  else response.writeHead(204).end()
}

function list(s3: S3Server, query: URLSearchParams, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? ''
  const asked = (key: string): boolean => key.startsWith(prefix) && !key.slice(prefix.length).includes('/')
  const keys = [...s3.objects.keys()]
    .filter((key) => asked(key) && !s3.alsoLists.includes(key))
    .concat(s3.alsoLists)
    .filter((key) => key > after)
    .sort()
  const page = keys.slice(0, KEYS_A_PAGE)
  const more = keys.length > page.length
  const contents = page.map((key) => {
    const { body, etag, at } = s3.objects.get(key) ?? { body: '', etag: '', at: new Date(0) }
    return `<Contents><Key>${xml(key)}</Key><Size>${s3.trickles.get(key) ?? body.length}</Size><ETag>${xml(etag)}</ETag><LastModified>${at.toISOString()}</LastModified></Contents>`
  })
  const pages = s3.requests.filter((one) => one === 'GET ').length
  const token = s3.nextToken?.(pages) ?? (more ? page.at(-1) : undefined)
  const next = token === undefined ? '' : `<NextContinuationToken>${xml(token)}</NextContinuationToken>`
  answerXml(
    response,
    200,
    `<ListBucketResult><IsTruncated>${more}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
  )
}

function get(s3: S3Server, key: string, request: IncomingMessage, response: ServerResponse): void {
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const { breakAfter, goesSilent, lie } = s3.onGet?.(key, from) ?? {}
  const object = s3.objects.get(key)
  if (object === undefined) {
    refuse(response, 404, 'NoSuchKey')
    return
  }
  const wanted = request.headers['if-match']
  if (lie === undefined && wanted !== undefined && wanted !== object.etag) {
    refuse(response, 412, 'PreconditionFailed')
    return
  }
  const endless = s3.trickles.get(key)
  if (endless !== undefined) {
    response.writeHead(200, { 'content-length': endless, etag: object.etag })
    const timer = setInterval(() => response.write(Buffer.alloc(1024)), 10)
    response.on('close', () => clearInterval(timer))
    return
  }
  const body = lie?.body ?? object.body.subarray(from)
  const range = `bytes ${from}-${object.body.length - 1}/${object.body.length}`
  response.writeHead(lie?.status ?? (from === 0 ? 200 : 206), {
    ...{ 'content-length': body.length, etag: object.etag },
    ...(from === 0 ? {} : { 'content-range': range }),
    ...(request.headers['x-amz-checksum-mode'] === 'ENABLED' ? s3.checksum?.(object.body) : {}),
    ...lie?.headers,
  })
  if (breakAfter === undefined) response.end(body)
  else if (goesSilent) response.write(body.subarray(0, breakAfter))
  else response.write(body.subarray(0, breakAfter), () => setImmediate(() => response.destroy()))
}

async function receive(
  s3: S3Server,
  key: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const chunks: Buffer[] = []
  let bytes = 0
  if (s3.onPut?.(key, 0) === 'refuse') return refuse(response, 403, 'AccessDenied')
  for await (const chunk of request) {
    chunks.push(chunk)
    bytes += chunk.length
    if (s3.onPut?.(key, bytes) === 'cut') return void request.destroy()
  }
  // Storage takes a body whole or not at all.
  if (bytes !== Number(request.headers['content-length'])) return refuse(response, 400, 'IncompleteBody')
  const { 'x-amz-meta-sha256': sha256 } = request.headers
  s3.put(key, Buffer.concat(chunks), typeof sha256 === 'string' ? sha256 : undefined)
  response.writeHead(200, { etag: s3.objects.get(key)?.etag }).end()
}

function copy(
  s3: S3Server,
  key: string,
  source: string,
  { headers }: IncomingMessage,
  response: ServerResponse,
): void {
  const [, ...from] = source.replace(/^\//, '').split('/').map(decodeURIComponent)
  const object = s3.objects.get(from.join('/'))
  if (object === undefined) {
    refuse(response, 404, 'NoSuchKey')
    return
  }
  const wanted = headers['x-amz-copy-source-if-match']
  if (wanted !== undefined && wanted !== object.etag) {
    refuse(response, 412, 'PreconditionFailed')
    return
  }
  s3.put(key, object.body)
  answerXml(response, 200, `<CopyObjectResult><ETag>${xml(object.etag)}</ETag></CopyObjectResult>`)
}

const refuse = (response: ServerResponse, status: number, code: string): void =>
  answerXml(
    response,
    status,
    code === '' ? '' : `<Error><Code>${xml(code)}</Code><Message>no</Message></Error>`,
  )

function answerXml(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
}

const xml = (text: string): string => text.replace(/[&<>"\p{Cc}]/gu, (one) => `&#${one.charCodeAt(0)};`)
