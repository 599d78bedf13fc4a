/** Brings a collection that is whole here to an SFTP server or a bucket: every file is whole there or absent, and the manifest comes last. */
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import pLimit from 'p-limit'
import type { RemotePlace } from '../extract/sources/source.ts'
import { allDone } from '../load/dispatcher.ts'
import type { SourceSettings } from './arrival.ts'

/** Says that all is there. */
export const MANIFEST = 'manifest.json'

/** Files under way at once: of articles there are thousands of small ones. */
const AT_ONCE = 4

/** A place elsewhere, and what a run has for it. */
export interface Destination {
  readonly place: RemotePlace
  readonly secrets: SourceSettings
  /** Aborted, with a `WaybillError`, when the run is to stop. */
  readonly signal: AbortSignal
  readonly assertHeld: () => Promise<void>
}

/**
 * What is there already is not put there again.
 * @param folder of the collection, here
 * @param name of its folder there
 * @throws WaybillError `collection-not-delivered`, `source-untrusted`; what the signal is aborted with
 */
export async function deliverCollection(
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
