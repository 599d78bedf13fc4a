/** Measurements of one person that fit each other: a coherent picture, not a model of any population. */
import type { Person } from './people.ts'
import { Random, STREAM } from './random.ts'

export interface Health {
  readonly diabetes: boolean
  readonly hypertension: boolean
  readonly asthma: boolean
  readonly tobacco: boolean
  readonly fasting: boolean
  readonly heightIn: number
  readonly weightLb: number
  readonly bmi: number
  readonly waistIn: number
  readonly systolic: number
  readonly diastolic: number
  readonly pulse: number
  readonly totalCholesterol: number
  readonly hdl: number
  /** By Friedewald's formula, which does not hold from 400 mg/dL of triglycerides on. */
  readonly ldl: number | undefined
  readonly triglycerides: number
  readonly glucose: number
  readonly hba1c: number
  readonly creatinine: number
  readonly egfr: number
}

export function healthAt(seed: number, ordinal: number, person: Person): Health {
  const random = new Random(seed, STREAM.health, ordinal)
  const male = person.gender === 'M'
  const heightIn = rounded(random.normal(male ? 69.2 : 63.8, 2.8), 1)
  const bodyMass = within(random.normal(28 + (person.age - 44) * 0.05, 5.5), 17, 55)
  const weightLb = rounded((bodyMass * heightIn ** 2) / 703.07, 1)
  const bmi = rounded((weightLb * 703.07) / heightIn ** 2, 1)
  const heavy = bmi - 27
  const diabetes = random.chance(within(0.06 + heavy * 0.008 + (person.age - 44) * 0.003, 0.01, 0.4))
  const hypertension = random.chance(within(0.25 + heavy * 0.015 + (person.age - 44) * 0.009, 0.02, 0.75))
  const tobacco = random.chance(0.14)
  const fasting = random.chance(0.75)

  const systolic = Math.round(
    random.normal(114 + heavy * 0.6 + (person.age - 44) * 0.25 + (hypertension ? 16 : 0), 9),
  )
  const diastolic = Math.round(systolic * 0.45 + random.normal(23, 5))
  const hdl = Math.round(
    within(random.normal((male ? 48 : 58) - heavy * 0.7 - (tobacco ? 4 : 0), 10), 22, 110),
  )
  const triglycerides = Math.round(Math.exp(random.normal(4.7 + heavy * 0.02 + (diabetes ? 0.25 : 0), 0.38)))
  const measuredLdl = within(random.normal(112 + (person.age - 44) * 0.3, 26), 35, 260)
  const totalCholesterol = Math.round(measuredLdl + hdl + triglycerides / 5)
  const hba1c = rounded(
    diabetes
      ? within(random.normal(7.4, 0.9), 5.9, 13)
      : within(random.normal(5.4 + heavy * 0.01, 0.22), 4.4, 6.4),
    1,
  )
  // Estimated average glucose (28.7 x A1c - 46.7 mg/dL, ADAG study), lower when fasting and higher after a meal.
  const glucose = Math.round(28.7 * hba1c - 46.7 + random.normal(fasting ? -12 : 14, 5))
  const creatinine = rounded(within(random.normal(male ? 0.95 : 0.76, 0.13), 0.4, 2.5), 2)
  return {
    diabetes,
    hypertension,
    asthma: random.chance(0.08),
    tobacco,
    fasting,
    heightIn,
    weightLb,
    bmi,
    waistIn: rounded(within(random.normal((male ? 38.5 : 36.5) + heavy * 0.85, 1.5), 22, 70), 1),
    systolic,
    diastolic,
    pulse: Math.round(random.normal(72 + (tobacco ? 4 : 0), 8)),
    totalCholesterol,
    hdl,
    ldl: triglycerides < 400 ? Math.round(totalCholesterol - hdl - triglycerides / 5) : undefined,
    triglycerides,
    glucose,
    hba1c,
    creatinine,
    egfr: Math.round(ckdEpi2021(creatinine, person.age, male)),
  }
}

/** CKD-EPI creatinine equation of 2021, mL/min/1.73 m2. */
function ckdEpi2021(creatinine: number, age: number, male: boolean): number {
  const ratio = creatinine / (male ? 0.9 : 0.7)
  const below = Math.min(ratio, 1) ** (male ? -0.302 : -0.241)
  return 142 * below * Math.max(ratio, 1) ** -1.2 * 0.9938 ** age * (male ? 1 : 1.012)
}

const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

export const rounded = (value: number, decimals: number): number =>
  Math.round(value * 10 ** decimals) / 10 ** decimals
