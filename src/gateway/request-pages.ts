/**
 * The pages of a search for medical-records requests. Not documented: whether the first page is 0 or 1, and whether a total is told. So pages
 * are asked for until one is not full, or says nothing new.
 */
import type { MedicalRecordsRequestReturned } from './contract/medical-records.ts'

/** As the sample has it. */
const PER_PAGE = 100

/** @param pageOf asks for one page, from 1. @throws what it throws */
export async function* requestPages(
  pageOf: (page: number, limit: number) => Promise<readonly MedicalRecordsRequestReturned[]>,
): AsyncGenerator<MedicalRecordsRequestReturned> {
  const seen = new Set<string>()
  for (let page = 1; ; page++) {
    const results = await pageOf(page, PER_PAGE)
    const fresh = results.filter(({ referenceNumber }) => !seen.has(referenceNumber))
    for (const one of fresh) {
      seen.add(one.referenceNumber)
      yield one
    }
    if (results.length < PER_PAGE || fresh.length === 0) return
  }
}
