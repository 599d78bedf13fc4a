/** Where a vendor puts exports, whatever it is. Implementations pass `test/conformance/export-source.ts`. */
import type { WaybillError } from '../../model/errors.ts'
import { cutToBytes } from '../../own-files.ts'

/** A file as its source lists it. */
export interface Delivery {
  readonly name: string
  readonly bytes: number
  /** Milliseconds since the epoch; a source may know it to the second alone. */
  readonly modifiedAt: number
  /** Differs whenever the content does: an entity tag, or size and time. */
  readonly version: string
}

/** What lies at a source. */
export interface Listing {
  readonly files: readonly Delivery[]
  readonly refused: readonly RefusedFile[]
}

/** A file that is not taken. */
export interface RefusedFile {
  /** With control characters, and what else a person does not see, written out. */
  readonly shown: string
  /** `export-refused` */
  readonly error: WaybillError
  /** Names that the pattern of a job may mean by it. */
  readonly names: readonly string[]
}

export interface ExportSource {
  /** Names a file for people and the ledger: a path, `sftp://…`, `s3://…`. Never a credential. */
  address(name: string): string
  /** The files that lie there, in no order; not what lies in folders below. Built by `listingOf` alone. @throws WaybillError `export-unreadable`, `source-unreachable`, `source-untrusted` */
  list(): Promise<Listing>
  /**
   * Brings a file here. What was brought is whole and is the listed version; a half one is never left at `file`.
   * @param file where to put it, with mode 0600; its folder is made
   * @param signal aborted, with a `WaybillError`, when it is not wanted any more
   * @returns where it is: `file`, or its own path where the source is local and nothing need be copied
   * @throws WaybillError `export-changed` where the file is another by now, `export-unreadable` where it is gone or may not be
   *   read, `source-unreachable`; what the signal is aborted with
   */
  fetch(delivery: Delivery, file: string, signal?: AbortSignal): Promise<string>
  /**
   * Moves a file to the archive of the source. A name that is taken there gets a number behind it; nothing is overwritten.
   * @returns its address in the archive
   * @throws WaybillError `export-changed` where the file is not the listed version: it stays where it is
   */
  archive(delivery: Delivery): Promise<string>
  close(): Promise<void>
}

/** In bytes: what has a number behind it is to be no longer than a name may be. */
const LONGEST_NUMBERED = 240

/** `a.csv`, `a.csv.1`, `a.csv.2` …: behind the ending, so that the pattern of a job takes none for a new export. */
export function* archiveNames(name: string): Generator<string> {
  yield name
  for (let at = 1; ; at += 1) yield `${cutToBytes(name, LONGEST_NUMBERED)}.${at}`
}
