/** Records of the wide export, as a user would write its mapping into a program: the loader by hand, and that of OpenFn. */

const LOINC = { codeSystem: '2.16.840.1.113883.6.1', codeSystemName: 'LOINC' }
const cm = (text: string): number => Math.round(Number(text) * 2.54 * 10) / 10
const kg = (text: string): number => Math.round(Number(text) * 0.45359237 * 10) / 10
const measurements: [string, string, string, string, ((text: string) => number)?][] = [
  ['sbp', '8480-6', 'Systolic blood pressure', 'mm[Hg]'],
  ['dbp', '8462-4', 'Diastolic blood pressure', 'mm[Hg]'],
  ['pulse', '8867-4', 'Heart rate', '/min'],
  ['tc', '2093-3', 'Cholesterol', 'mg/dL'],
  ['hdl', '2085-9', 'Cholesterol in HDL', 'mg/dL'],
  ['ldl', '13457-7', 'Cholesterol in LDL, calculated', 'mg/dL'],
  ['trig', '2571-8', 'Triglycerides', 'mg/dL'],
  ['glucose', '2345-7', 'Glucose', 'mg/dL'],
  ['a1c', '4548-4', 'Hemoglobin A1c', '%'],
  ['height_in', '8302-2', 'Body height', 'cm', cm],
  ['weight_lb', '29463-7', 'Body weight', 'kg', kg],
  ['bmi', '39156-5', 'Body mass index', 'kg/m2'],
  ['waist_in', '8280-0', 'Waist circumference', 'cm', cm],
]
const diagnoses: [string, string, string, string][] = [
  ['dx_diabetes', 'Type 2 diabetes mellitus', 'E11.9', '44054006'],
  ['dx_hypertension', 'Hypertension', 'I10', '38341003'],
]

export type WideRow = Readonly<Record<string, string>>

/** A row's instant: New York, in winter. */
function instantOf(text: string): Date {
  const [day = '', time = ''] = text.split(' ')
  const [month, date, year] = day.split('/')
  return new Date(`${year}-${month}-${date}T${time}:00-05:00`)
}

/** @param number of the row, from 1 */
export function recordsOf(row: WideRow, number: number): { biometrics: object[]; conditions: object[] } {
  const reference = row['participant_id'] ?? ''
  const at = instantOf(row['screened_at'] ?? '')
  const observationDate = at.toISOString()
  const account = { reference, type: 'partnerAccountId' }
  const source = {
    name: 'Acme Onsite Screening',
    type: 'screening',
    meta: { resourceKey: `${reference}|${row['screened_at']}`, sendingSystem: 'acme' },
  }
  const biometrics: object[] = []
  for (const [column, code, name, unit, convert = Number] of measurements) {
    const text = row[column]?.trim() ?? ''
    if (text === '') continue
    biometrics.push({
      ...{ transactionId: `bench-${number}-${column}`, account, name, observationDate, ...LOINC, code },
      ...{ codes: [{ code, ...LOINC, name }], type: 'Observation', value: convert(text), unit, source },
    })
  }
  const conditions: object[] = []
  for (const [column, name, icd10, snomed] of diagnoses) {
    if (row[column] !== 'Y') continue
    conditions.push({
      transactionId: `bench-${number}-${column}`,
      ...{ account, name, status: 'active', observationDate: at.getTime() },
      codes: [
        { code: icd10, codeSystem: '2.16.840.1.113883.6.90', codeSystemName: 'ICD-10-CM', name },
        { code: snomed, codeSystem: '2.16.840.1.113883.6.96', codeSystemName: 'SNOMED CT', name },
      ],
      source,
    })
  }
  return { biometrics, conditions }
}
