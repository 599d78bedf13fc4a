/**
 * Files of a collection: written aside, then moved into place as one folder with a manifest, so that every collection in place is whole. The files
 * hold health data: mode 0600, in a folder for their owner alone. At an SFTP server or in a bucket, too, every file is whole or absent, and the
 * manifest comes last.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, lstatSync, rmSync } from 'node:fs'
import { open, readdir, rename } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import pLimit from 'p-limit'
import { z } from 'zod'
import { ARTICLES } from '../collect/kinds.ts'
import type { RemotePlace } from '../extract/sources/source.ts'
import { allDone, reasonOf, WaybillError } from '../model/errors.ts'
import { makeFolder, openOwn, ownFileName } from '../system/own-files.ts'
import { textLines } from '../system/text-lines.ts'
import type { SourceSettings } from './arrival.ts'
import { type AppendedFile, openAppended } from './receipts.ts'

const Written = z.object({ lines: z.int(), bytes: z.int() })

/** Collection of a run, as kept in the ledger. */
export const Collection = z.object({
  /** Place of the whole collection: a path, `sftp://…`, `s3://…`. */
  folder: z.string(),
  /** Local folder of a remote collection, for writing until delivery. */
  aside: z.string().optional(),
  files: z.record(z.string(), Written.extend({ sha256: z.string().optional() })),
  /** True once the collection is in place. */
  isWhole: z.boolean(),
})
export type Collection = z.infer<typeof Collection>

interface CollectionFiles {
  /** Appends and syncs. @param texts by the name of the file, with the number of lines */
  append(texts: CollectedTexts): Promise<Collection>
  /**
   * Moves the collection into place, and delivers it to a remote target.
   * @param about further content of the manifest, beside the files with their SHA-256
   * @param derive content derived from the whole collection: texts are appended, files made in the given folder
   */
  publish(about: object, derive?: Derivation): Promise<Collection>
  /** Removes the local copy after delivery: call once the ledger has recorded the delivery. */
  clear(): void
}

interface Derivation {
  readonly texts: CollectedTexts
  /** @returns the files, for the manifest */
  readonly files: (folder: string) => Promise<readonly DerivedFile[]>
}

/** @property name within the collection, with slashes */
interface DerivedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

type CollectedTexts = ReadonlyMap<string, { text: string; lines: number }>

/**
 * Opens the files of a collection.
 * @param folder of the target, or in the home for a remote target; the collection becomes a folder in it, named after the run
 * @param heads the files, each with the text at its head
 * @param before collection settled by an earlier process
 * @throws WaybillError `collection-lost` if this collection is gone
 */
export function openCollection(
  folder: string,
  run: string,
  heads: ReadonlyMap<string, string>,
  before: Collection | undefined,
  assertHeld: () => Promise<void>,
  destination?: Destination,
): CollectionFiles {
  const aside = join(folder, `.${run}.part`)
  const whole = join(folder, run)
  const isThere = existsSync(whole)
  const written = new Map(Object.entries(before?.files ?? {}))
  const files = new Map<string, AppendedFile>()
  const fileOf = (name: string): AppendedFile => {
    const bytes = written.get(name)?.bytes ?? 0
    const file = files.get(name) ?? openAgain(folder, join(aside, name), bytes, assertHeld)
    files.set(name, file)
    return file
  }
  const collection = (isWhole: boolean): Collection => ({
    ...(destination === undefined
      ? { folder: whole }
      : { folder: addressIn(destination.place.shown, run), aside: folder }),
    files: Object.fromEntries(written),
    isWhole,
  })
  const appendTo = async (name: string, text: string, more: number): Promise<void> => {
    const { bytes: before = 0, lines = 0 } = written.get(name) ?? {}
    const head = before > 0 ? '' : (heads.get(name) ?? '')
    const bytes = await fileOf(name).append(Buffer.from(head + text))
    written.set(name, { bytes, lines: lines + more })
  }
  const unusable = (cause: unknown): never => {
    if (cause instanceof WaybillError && cause.code !== 'home-unusable') throw cause
    const code = destination === undefined ? 'target-unusable' : 'home-unusable'
    const message = `the collection cannot be written: ${reasonOf(cause)}`
    throw new WaybillError(code, message, { place: { file: folder }, cause })
  }
  const append = async (texts: CollectedTexts): Promise<void> => {
    for (const [name, { text, lines }] of texts) await appendTo(name, text, lines)
  }
  /** Closes all files, and notes their checksums. A file without content must be there, too. */
  const closeAll = async (): Promise<void> => {
    for (const name of heads.keys()) {
      await appendTo(name, '', 0)
      await files.get(name)?.close()
      const path = join(aside, name)
      await (await openOwn(folder, path)).close()
      const { lines = 0, bytes = 0 } = written.get(name) ?? {}
      written.set(name, { lines, bytes, sha256: await sha256Of(path) })
    }
  }
  const makeWhole = async (about: object, derive: Derivation | undefined): Promise<void> => {
    if (derive !== undefined) await append(derive.texts)
    await closeAll()
    const derived = (await derive?.files(aside)) ?? []
    const listed = [...[...written].map(([name, one]) => ({ name, ...one })), ...derived]
    const manifest = `${JSON.stringify({ ...about, files: listed }, undefined, 2)}\n`
    await writeWhole(folder, join(aside, MANIFEST), manifest, 'sync')
    await assertHeld()
    await renameIn(folder, aside, whole)
  }
  return {
    async append(texts) {
      await append(texts).catch(unusable)
      return collection(false)
    },
    async publish(about, derive) {
      if (before?.isWhole === true) return collection(true)
      if (!isThere) await makeWhole(about, derive).catch(unusable)
      if (destination !== undefined) await deliverCollection(destination, whole, run)
      return collection(true)
    },
    clear() {
      if (destination !== undefined) rmSync(whole, { recursive: true, force: true })
    },
  }
}

/** Renames within a folder; the disk then has the new name. */
async function renameIn(folder: string, from: string, to: string): Promise<void> {
  await rename(from, to)
  const parent = await open(folder)
  await parent.sync().finally(() => parent.close())
}

/** @throws WaybillError `collection-lost` for a file shorter than the part that was settled */
function openAgain(
  folder: string,
  path: string,
  bytes: number,
  assertHeld: () => Promise<void>,
): AppendedFile {
  makeFolder(folder)
  if ((lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes)
    throw new WaybillError('collection-lost', 'the collected files of the run are gone', {
      place: { file: path },
    })
  return openAppended(folder, path, bytes, assertHeld)
}

/** @param base with or without a slash, or a dot, at its end */
const addressIn = (base: string, name: string): string => `${base.replace(/(\/\.?)*$/, '')}/${name}`

/** Removes files set aside by a run that will not be finished. */
export function forgetCollection({ folder, aside }: Collection, run: string): void {
  rmSync(join(aside ?? dirname(folder), `.${run}.part`), { recursive: true, force: true })
  if (aside !== undefined) rmSync(join(aside, run), { recursive: true, force: true })
}

async function sha256Of(path: string): Promise<string> {
  const sum = createHash('sha256')
  await pipeline(createReadStream(path), sum)
  return sum.digest('hex')
}

/** Writes a file in place of its former content. @param sync waits until the disk has it */
async function writeWhole(
  root: string,
  path: string,
  content: string | Buffer,
  sync?: 'sync',
): Promise<void> {
  const file = await openOwn(root, path)
  try {
    await file.truncate(0)
    await file.writeFile(content)
    if (sync !== undefined) await file.sync()
  } finally {
    await file.close()
  }
}

const Article = z.looseObject({ id: z.union([z.string(), z.number()]), body: z.string() })

/**
 * Writes the bodies of articles, a file each: `bodies/ID.html`, as the service holds it. Clean a body before showing it. An article without a body
 * has no file.
 */
export async function writeBodies(folder: string): Promise<readonly DerivedFile[]> {
  const file = join(folder, ARTICLES)
  // In CSV the body is in its cell.
  if (!existsSync(file)) return []
  const written: DerivedFile[] = []
  for await (const line of textLines(createReadStream(file))) {
    const { data } = Article.safeParse(JSON.parse(line))
    if (data === undefined) continue
    const name = ownFileName(String(data.id), '.html')
    const content = Buffer.from(data.body)
    await writeWhole(folder, join(folder, 'bodies', name), content)
    const sha256 = createHash('sha256').update(content).digest('hex')
    written.push({ name: `bodies/${name}`, bytes: content.length, sha256 })
  }
  return written
}

/** Manifest, written last: a collection with a manifest is complete. */
const MANIFEST = 'manifest.json'

/** Files in flight at once: articles come as thousands of small files. */
const AT_ONCE = 4

/** Remote target, with the access that a run has. */
export interface Destination {
  readonly place: RemotePlace
  readonly secrets: SourceSettings
  /** Aborted, with a `WaybillError`, when the run is to stop. */
  readonly signal: AbortSignal
  readonly assertHeld: () => Promise<void>
}

/**
 * Delivers a collection. Files already there are not sent again.
 * @param folder of the collection, here
 * @param name of its folder there
 * @throws WaybillError `collection-not-delivered`, `source-untrusted`; the reason of the signal
 */
async function deliverCollection(
  { place, secrets, signal, assertHeld }: Destination,
  folder: string,
  name: string,
): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = found.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
  const manifest = join(folder, MANIFEST)
  const target = await place.open(secrets)
  const put = (file: string): Promise<void> =>
    target.put([name, ...relative(folder, file).split(sep)].join('/'), file)
  try {
    const limit = pLimit(AT_ONCE)
    let failed = false
    await allDone(
      files
        .filter((file) => file !== manifest)
        .map((file) =>
          limit(async () => {
            if (failed) return
            signal.throwIfAborted()
            await put(file).catch((error: unknown) => {
              failed = true
              throw error
            })
          }),
        ),
    )
    signal.throwIfAborted()
    await assertHeld()
    await put(manifest)
  } finally {
    await target.close()
  }
}
