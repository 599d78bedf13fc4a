/** Compares an answer of S3 storage with what was asked for: each part of an object, and the whole with the checksum that the storage has of it. */
import { Crc32, Crc32c, Crc64Nvme } from '@aws-sdk/checksums/crc'
import { Sha1, Sha256 } from '@aws-sdk/checksums/sha'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import type { Delivery } from './source.ts'

/**
 * Compares status, place and entity tag with those of the version that was listed.
 * @param from byte that the answer is to begin with
 * @returns what is wrong with the answer; undefined where nothing is
 */
export function mismatchOf(
  { $metadata, ContentRange, ContentLength, ETag = '' }: GetObjectCommandOutput,
  { bytes, version }: Pick<Delivery, 'bytes' | 'version'>,
  from: number,
): string | undefined {
  const status = $metadata.httpStatusCode
  if (status !== (from === 0 ? 200 : 206)) return `its answer has the status ${status}`
  if (plainTag(ETag) !== plainTag(version)) return 'its answer is of another version'
  const range = from === 0 ? undefined : `bytes ${from}-${bytes - 1}/${bytes}`
  if (ContentRange !== range) return 'its answer is of another place'
  if (ContentLength !== undefined && ContentLength !== bytes - from) return 'its answer has another length'
  return undefined
}

/** Some storage lists tags without quotes. */
const plainTag = (tag: string): string => tag.replace(/^W\/|"/g, '')

const ALGORITHMS = {
  ChecksumSHA256: Sha256,
  ChecksumSHA1: Sha1,
  ChecksumCRC64NVME: Crc64Nvme,
  ChecksumCRC32C: Crc32c,
  ChecksumCRC32: Crc32,
} as const

/** A checksum of the content so far. */
export interface RunningSum {
  update(chunk: Uint8Array): void
  /** To be called when all has come. */
  isRight(): Promise<boolean>
}

/** Undefined where the storage has no checksum of the whole: one of an object that was put there in parts may be of these. */
export function runningSum(answer: GetObjectCommandOutput): RunningSum | undefined {
  for (const [name, Algorithm] of Object.entries(ALGORITHMS)) {
    const stated: unknown = answer[name as keyof typeof ALGORITHMS]
    if (typeof stated !== 'string' || stated.includes('-') || answer.ChecksumType === 'COMPOSITE') continue
    const sum = new Algorithm()
    return {
      update: (chunk) => sum.update(chunk),
      isRight: async () => Buffer.from(await sum.digest()).toString('base64') === stated,
    }
  }
  return undefined
}
