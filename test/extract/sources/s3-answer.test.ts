/** Answers of S3 storage beside the object that was listed. */
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { GetObjectCommandOutput } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { mismatchOf, runningSum } from '../../../src/extract/sources/s3-answer.ts'

const LISTED = { bytes: 100, version: '"tag"' }

function answered(status: number, fields: Partial<GetObjectCommandOutput> = {}): GetObjectCommandOutput {
  return { $metadata: { httpStatusCode: status }, ETag: '"tag"', ContentLength: 100, ...fields }
}

const REST = { ContentRange: 'bytes 40-99/100', ContentLength: 60 }

test.each<[string, number, GetObjectCommandOutput, string | undefined]>([
  ['the whole', 0, answered(200), undefined],
  ['the whole, without its length', 0, answered(200, { ContentLength: undefined }), undefined],
  ['the whole, with a tag without quotes', 0, answered(200, { ETag: 'tag' }), undefined],
  ['the whole, with a weak tag', 0, answered(200, { ETag: 'W/"tag"' }), undefined],
  ['the rest', 40, answered(206, REST), undefined],
  ['the whole where the rest was asked for', 40, answered(200), 'status 200'],
  ['a part where the whole was asked for', 0, answered(206, REST), 'status 206'],
  ['another object', 0, answered(200, { ETag: '"other"' }), 'another entity tag'],
  ['an object without a tag', 0, answered(200, { ETag: undefined }), 'another entity tag'],
  [
    'the rest from one byte on',
    40,
    answered(206, { ...REST, ContentRange: 'bytes 41-99/100' }),
    'another Content-Range',
  ],
  [
    'the rest of a longer object',
    40,
    answered(206, { ...REST, ContentRange: 'bytes 40-100/101' }),
    'another Content-Range',
  ],
  ['the whole with a range', 0, answered(200, { ContentRange: 'bytes 0-99/100' }), 'another Content-Range'],
  ['a shorter object', 0, answered(200, { ContentLength: 99 }), 'another length'],
  ['a longer rest', 40, answered(206, { ...REST, ContentLength: 61 }), 'another length'],
])('an answer with %s', (_, from, answer, mismatch) => {
  expect(mismatchOf(answer, LISTED, from)).toBe(mismatch)
})

const CONTENT = Buffer.from('id\n7\n')
const digest = (algorithm: string): string => createHash(algorithm).update(CONTENT).digest('base64')
const SUM = Buffer.alloc(4)
SUM.writeUInt32BE(crc32(CONTENT))
const CRC32 = SUM.toString('base64')

async function isRight(fields: Partial<GetObjectCommandOutput>): Promise<boolean | undefined> {
  const sum = runningSum(answered(200, fields))
  sum?.update(CONTENT.subarray(0, 2))
  sum?.update(CONTENT.subarray(2))
  return sum?.isRight()
}

test.each<[string, Partial<GetObjectCommandOutput>, boolean | undefined]>([
  ['none', {}, undefined],
  ['SHA-256', { ChecksumSHA256: digest('sha256') }, true],
  ['SHA-1', { ChecksumSHA1: digest('sha1') }, true],
  ['CRC-32', { ChecksumCRC32: CRC32 }, true],
  ['SHA-256 of something else', { ChecksumSHA256: digest('sha1') }, false],
  ['CRC-32 of something else', { ChecksumCRC32: 'AAAAAA==' }, false],
  ['sums of parts, by their form', { ChecksumSHA256: `${digest('sha256')}-2` }, undefined],
  ['sums of parts, by their type', { ChecksumCRC32: CRC32, ChecksumType: 'COMPOSITE' }, undefined],
  ['a sum of parts beside one of the whole', { ChecksumSHA1: 'AA==-2', ChecksumCRC32: CRC32 }, true],
])('a storage that states %s as its checksum', async (_, fields, expected) => {
  expect(await isRight(fields)).toBe(expected)
})
