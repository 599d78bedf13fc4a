/** Exports of vendors that do not exist, from a seed, with what each column truly is. */
import { drawFrom } from '../load/simulated-flow.ts'

/** What a column holds: a measurement in a unit (`''`: the catalog's), a condition, or, without a key, something that looks like one. */
export type Column = readonly [
  header: string,
  key: string,
  unit: string,
  low: number,
  high: number,
  decimals?: number,
]

/** Headers of measurements, by vendors' habits. */
const MEASURED: readonly Column[] = [
  ...[
    'SBP',
    'Sys BP',
    'BP (systolic)',
    'systolic_bp',
    'Systolic Blood Pressure (mmHg)',
    'BPSys',
    'RR sys',
    'Systole (mmHg)',
  ].map((header): Column => [header, 'systolic-bp', '', 100, 160]),
  ...[
    'DBP',
    'Dia BP',
    'BP (diastolic)',
    'diastolic_bp',
    'Diastolic Blood Pressure [mmHg]',
    'RR dia',
    'Diastole',
  ].map((header): Column => [header, 'diastolic-bp', '', 60, 95]),
  ...[
    'Weight (kg)',
    'weight_kg',
    'Body Weight (kg)',
    'Gewicht (kg)',
    'Poids (kg)',
    'Peso (kg)',
    'WT [kg]',
  ].map((header): Column => [header, 'body-weight', '', 55, 110, 1]),
  ...['Weight (lb)', 'weight_lbs', 'WT (lbs)', 'Body Weight (pounds)', 'Weight (measured, lb)'].map(
    (header): Column => [header, 'body-weight', 'lb', 130, 240],
  ),
  ...['Weight', 'Body Weight', 'wt'].map((header): Column => [header, 'body-weight', 'lb', 90, 240]),
  ...['Height (cm)', 'height_cm', 'HT [cm]', 'Talla (cm)', 'Größe (cm)'].map(
    (header): Column => [header, 'body-height', '', 150, 195],
  ),
  ...['Height (in)', 'height_in', 'HT (inches)'].map(
    (header): Column => [header, 'body-height', 'in', 59, 77, 1],
  ),
  ...['Total Cholesterol (mg/dL)', 'chol_mgdl', 'TC (mg/dL)', 'Cholesterol (total) mg/dL'].map(
    (header): Column => [header, 'total-cholesterol', '', 140, 260],
  ),
  ...['Chol', 'TotChol', 'Cholesterol', 'Total Cholesterol (mmol/L)', 'tc_mmoll'].map(
    (header): Column => [header, 'total-cholesterol', 'mmol/L', 3.5, 6.9, 1],
  ),
  ...['HDL', 'HDL-C (mg/dL)', 'HDL Cholesterol', 'hdl_mgdl'].map(
    (header): Column => [header, 'hdl-cholesterol', '', 35, 80],
  ),
  ...['LDL', 'LDL (calculated)', 'LDL-C', 'LDL calc (mg/dL)'].map(
    (header): Column => [header, 'ldl-cholesterol', '', 60, 180],
  ),
  ...['LDL (direct)', 'LDL direct', 'Direct LDL (mg/dL)', 'LDL measured', 'LDL (mg/dL, direct)'].map(
    (header): Column => [header, 'ldl-cholesterol-direct', '', 60, 180],
  ),
  ...['Glucose (fasting)', 'Fasting Glucose', 'FBS', 'glucose_fasting', 'Glucose (mg/dL; fasting)'].map(
    (header): Column => [header, 'glucose-fasting', '', 75, 130],
  ),
  ...['Glucose', 'Glucose (mg/dL)', 'GLU', 'Blood Sugar'].map(
    (header): Column => [header, 'glucose', '', 75, 160],
  ),
  ...['glucose_mmol', 'Glukose (mmol/l)'].map((header): Column => [header, 'glucose', 'mmol/L', 4.2, 8.8, 1]),
  ...['A1c', 'HbA1c (%)', 'Hemoglobin A1c (HbA1c)', 'hba1c_pct', 'LOINC 4548-4'].map(
    (header): Column => [header, 'hba1c', '', 4.8, 8.5, 1],
  ),
  ...['Triglycerides (mg/dL)', 'trig_mgdl', 'Trigs'].map(
    (header): Column => [header, 'triglycerides', '', 70, 250],
  ),
  ...['Pulse', 'Heart Rate (bpm)', 'HR', 'Puls'].map((header): Column => [header, 'heart-rate', '', 55, 95]),
  ...['BMI', 'Body Mass Index (BMI)', 'bmi (kg/m2)'].map((header): Column => [header, 'bmi', '', 19, 38, 1]),
  ...['Potassium (K)', 'Kalium (mmol/l)'].map((header): Column => [header, 'potassium', '', 3.6, 5.1, 1]),
  ...['Creatinine (mg/dL)', 'creat'].map((header): Column => [header, 'creatinine', '', 0.6, 1.3, 2]),
  ...['Temp (F)', 'temp_f'].map((header): Column => [header, 'body-temperature', '[degF]', 97, 100, 1]),
]

/** Columns that are none of the person's measurements of that day, whatever they look like. */
const TRAPS: readonly Column[] = [
  ...['Weight (goal)', 'Goal weight', 'Weight (mother)', 'weight_last_year', 'Birth Weight (kg)'],
  ...[
    'Height (father)',
    'Father height',
    'A1c (prior year)',
    'prior_a1c',
    'A1c target',
    'Cholesterol (target)',
  ],
  ...[
    'Glucose 2h',
    'Glucose (2 hour)',
    'Glucose (urine)',
    'Sodium (urine)',
    'urine glucose',
    'LDL/HDL',
    'weight_2',
  ],
  ...[
    'SBP (standing)',
    'SBP goal',
    'Pulse (max)',
    'BMI goal',
    'Creatinine (urine)',
    'HDL change',
    'target_ldl',
  ],
].map((header): Column => [header, '', '', 60, 99])

/** Yes-and-no columns. */
const CONDITIONS: readonly (readonly [header: string, key: string])[] = [
  ...([
    ['dx_htn', 'hypertension'],
    ['Hypertension (Y/N)', 'hypertension'],
    ['Diabetes', 'diabetes'],
  ] as const),
  ...([
    ['Diabetes (type 2)', 'type-2-diabetes'],
    ['Asthma', 'asthma'],
    ['COPD', 'copd'],
    ['smoker', 'tobacco-use'],
  ] as const),
  ...[
    'Diabetes (mother)',
    'family_history_diabetes',
    'Diabetes (m)',
    'former smoker',
    'Asthma (childhood)',
  ].map((header) => [header, ''] as const),
  ...['hx_asthma', 'No diabetes', 'gestational diabetes', 'father_htn', 'COPD (ruled out)'].map(
    (header) => [header, ''] as const,
  ),
]

export const SPELLINGS = MEASURED.length + TRAPS.length + CONDITIONS.length

/** A vendor's export; `units` are the columns that tell the unit of a value column, row by row. */
export interface Vendor {
  readonly name: string
  readonly csv: string
  readonly truth: ReadonlyMap<
    string,
    { readonly key: string; readonly unit: string | { readonly from: string } }
  >
}

const ROWS = 60
const UNITS = ['mg/dL', 'mmol/L'] as const
/** 180.16 g/mol: mg/dL of a mmol/L of glucose. */
const GLUCOSE = 18.016

/** @returns vendors that together use every header once or more */
export function inventVendors(count: number, seed: number): Vendor[] {
  const chance = drawFrom(seed)
  const dealt = <Item>(items: readonly Item[], hand: number): Item[] =>
    items.filter((_, at) => at % count === hand)
  return Array.from({ length: count }, (_, hand): Vendor => {
    const columns: { header: string; cell: (row: number) => string }[] = [
      { header: 'Member ID', cell: (row) => `M${hand}-${row}` },
      { header: 'Visit Date', cell: (row) => `2026-02-${String(1 + (row % 27)).padStart(2, '0')}` },
    ]
    const truth = new Map<string, { key: string; unit: string | { from: string } }>()
    for (const [header, key, unit, low, high, decimals = 0] of [
      ...dealt(MEASURED, hand),
      ...dealt(TRAPS, hand),
    ]) {
      columns.push({ header, cell: () => (low + chance() * (high - low)).toFixed(decimals) })
      if (key !== '') truth.set(header, { key, unit })
    }
    for (const [header, key] of dealt(CONDITIONS, hand)) {
      columns.push({ header, cell: () => (chance() < 0.3 ? 'Y' : 'N') })
      if (key !== '') truth.set(header, { key, unit: '' })
    }
    if (hand % 4 === 0) {
      // Half the rows in one unit, half in the other.
      columns.push({
        header: 'random_glucose',
        cell: (row) => (row % 2 === 0 ? '95' : (95 / GLUCOSE).toFixed(1)),
      })
      columns.push({ header: 'random_glucose_units', cell: (row) => UNITS[row % 2] ?? '' })
      columns.push({ header: 'tsh', cell: () => (1 + chance()).toFixed(2) })
      columns.push({ header: 'tsh_uom', cell: (row) => (row % 12 === 0 ? 'mIU/L' : 'uIU/mL') })
      truth.set('random_glucose', { key: 'glucose', unit: { from: 'random_glucose_units' } })
      truth.set('tsh', { key: 'tsh', unit: { from: 'tsh_uom' } })
    }
    const lines = Array.from({ length: ROWS }, (_, row) => columns.map(({ cell }) => cell(row)))
    const quoted = columns.map(({ header }) => header.replaceAll(',', ';'))
    return {
      name: `vendor ${hand + 1}`,
      csv: [quoted, ...lines].map((cells) => cells.join(',')).join('\n'),
      truth: new Map([...truth].map(([header, told]) => [header.replaceAll(',', ';'), told])),
    }
  })
}
