/** Compares answers of S3 storage with the listed object: parts by status, place and entity tag, the whole by checksum. */
import { Crc32, Crc32c, Crc64Nvme } from '@aws-sdk/checksums/crc'
import { Sha1, Sha256 } from '@aws-sdk/checksums/sha'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import type { Delivery } from './source.ts'

/**
 * Compares status, place and entity tag with the listed version.
 * @param from first byte of the answer
 * @returns the difference; undefined for none
 */
export function mismatchOf(
  { $metadata, ContentRange, ContentLength, ETag = '' }: GetObjectCommandOutput,
  { bytes, version }: Pick<Delivery, 'bytes' | 'version'>,
  from: number,
): string | undefined {
  const status = $metadata.httpStatusCode
  if (status !== (from === 0 ? 200 : 206)) return `status ${status}`
  if (plainTag(ETag) !== plainTag(version)) return 'another entity tag'
  const range = from === 0 ? undefined : `bytes ${from}-${bytes - 1}/${bytes}`
  if (ContentRange !== range) return 'another Content-Range'
  if (ContentLength !== undefined && ContentLength !== bytes - from) return 'another length'
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

/** Checksum of the content so far. */
export interface RunningSum {
  update(chunk: Uint8Array): void
  /** Call at the end of the content. */
  isRight(): Promise<boolean>
}

/** Undefined without a checksum of the whole object: objects uploaded in parts may have checksums of the parts only. */
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
