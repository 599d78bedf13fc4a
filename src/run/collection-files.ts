/**
 * The files of a collection: written aside, and at the end put in their place as one folder with a manifest, so that what is there is whole.
 * They hold health data: mode 0600, in a folder for their owner alone.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, lstatSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import { makeFolder, openOwn } from '../own-files.ts'
import { type AppendedFile, openAppended } from './receipts.ts'

const Written = z.object({ lines: z.int(), bytes: z.int() })

/** What a run has collected, as its ledger keeps it. */
export const Collection = z.object({
  /** Where it is once it is whole. */
  folder: z.string(),
  files: z.record(z.string(), Written.extend({ sha256: z.string().optional() })),
  /** Whether it is there. */
  isWhole: z.boolean(),
})
export type Collection = z.infer<typeof Collection>

export interface CollectionFiles {
  /** Appends and syncs. @param texts by the name of the file, with how many lines each has */
  append(texts: ReadonlyMap<string, { readonly text: string; readonly lines: number }>): Promise<Collection>
  /**
   * @param about what else the manifest says; given the files with their SHA-256
   * @param derive makes files of what was collected, in the folder that is about to be put in its place
   */
  publish(about: object, derive?: (folder: string) => Promise<void>): Promise<Collection>
}

/**
 * @param folder of the target; the collection becomes a folder of it, named by the run
 * @param heads the files, each with what stands at its head
 * @param before what an earlier process of the run has settled
 * @throws WaybillError `collection-lost` where that is not there any more
 */
export function openCollection(
  folder: string,
  run: string,
  heads: ReadonlyMap<string, string>,
  before: Collection | undefined,
  assertHeld: () => Promise<void>,
): CollectionFiles {
  const aside = join(folder, `.${run}.part`)
  const whole = join(folder, run)
  const isThere = existsSync(whole)
  const written = new Map(Object.entries(before?.files ?? {}))
  const files = new Map<string, AppendedFile>()
  const fileOf = (name: string): AppendedFile => {
    const known = files.get(name)
    if (known !== undefined) return known
    makeFolder(folder)
    const { bytes = 0 } = written.get(name) ?? {}
    const path = join(aside, name)
    if ((lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes)
      throw new WaybillError('collection-lost', 'what the run had collected is not there any more', {
        place: { file: path },
      })
    const file = openAppended(folder, path, bytes, assertHeld)
    files.set(name, file)
    return file
  }
  const collection = (isWhole: boolean): Collection => ({
    ...{ folder: whole, files: Object.fromEntries(written), isWhole },
  })
  const appendTo = async (name: string, text: string, lines: number): Promise<void> => {
    const head = written.get(name)?.bytes ? '' : (heads.get(name) ?? '')
    const bytes = await fileOf(name).append(Buffer.from(head + text))
    written.set(name, { bytes, lines: (written.get(name)?.lines ?? 0) + lines })
  }
  const usable = <Result>(work: () => Promise<Result>): Promise<Result> =>
    work().catch((cause: unknown) => {
      if (cause instanceof WaybillError && cause.code !== 'home-unusable') throw cause
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new WaybillError('target-unusable', `the collection cannot be written: ${reason}`, {
        place: { file: folder },
        cause,
      })
    })
  return {
    append: (texts) =>
      usable(async () => {
        for (const [name, { text, lines }] of texts) await appendTo(name, text, lines)
        return collection(false)
      }),
    publish: (about, derive) =>
      usable(async () => {
        if (isThere) return collection(true)
        for (const name of heads.keys()) {
          await appendTo(name, '', 0)
          await files.get(name)?.close()
          const path = join(aside, name)
          // One in which nothing stands is there, too.
          await (await openOwn(folder, path)).close()
          const { lines = 0, bytes = 0 } = written.get(name) ?? {}
          written.set(name, { lines, bytes, sha256: await sha256Of(path) })
        }
        await derive?.(aside)
        const listed = [...written].map(([name, one]) => ({ name, ...one }))
        const manifest = await openOwn(folder, join(aside, 'manifest.json'))
        try {
          await manifest.truncate(0)
          await manifest.write(`${JSON.stringify({ ...about, files: listed }, undefined, 2)}\n`, 0)
          await manifest.sync()
        } finally {
          await manifest.close()
        }
        await assertHeld()
        await rename(aside, whole)
        const parent = await open(folder)
        await parent.sync().finally(() => parent.close())
        return collection(true)
      }),
  }
}

/** Removes what a run that will not be finished has put aside. */
export const forgetCollection = ({ folder }: Collection, run: string): void =>
  rmSync(join(folder, '..', `.${run}.part`), { recursive: true, force: true })

async function sha256Of(path: string): Promise<string> {
  const sum = createHash('sha256')
  await pipeline(createReadStream(path), sum)
  return sum.digest('hex')
}
