import type { AnswerId, Recommendation } from '../gateway/contract/age-assessment.ts'
import type { RecommendationDefinition } from './assessment-definition.ts'

/** The recommendations that follow from the answers chosen, in the order of the file, in one of its languages. */
export function recommend(
  definitions: readonly RecommendationDefinition[],
  chosen: readonly AnswerId[],
  language: string,
): Recommendation[] {
  return definitions
    .filter(({ when }) => when.some((id) => chosen.includes(id)))
    .map(({ benefitCost, texts }) => ({ ...texts[language], benefitCost }))
}

/**
 * The language that a header Accept-Language (RFC 9110 section 12.5.4) asks for, by the lookup of RFC 4647 section 3.4:
 * `es-MX` gets `es`. The first of `available` where the header is missing, cannot be read, or asks for none of them.
 */
export function languageFor(header: string | undefined, available: readonly string[]): string {
  const ranges = (header ?? '')
    .split(',')
    .flatMap((part) => {
      const [, range, weight = '1'] = WEIGHTED_RANGE.exec(part) ?? []
      return range === undefined ? [] : [{ range: range.toLowerCase(), weight: Number(weight) }]
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  for (const { range } of ranges) {
    const found = available.find((tag) => truncations(range).includes(tag.toLowerCase()))
    if (found !== undefined) return found
  }
  return available[0] ?? ''
}

const WEIGHTED_RANGE =
  /^[ \t]*([a-z]{1,8}(?:-[a-z0-9]{1,8})*)[ \t]*(?:;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*)?$/i

/** `zh-hant-cn` gives itself, `zh-hant`, `zh`. */
function truncations(range: string): string[] {
  const subtags = range.split('-')
  return subtags.map((_, at) => subtags.slice(0, subtags.length - at).join('-'))
}
