/** The columns of Acme's export, and the rules of mappings/acme-onsite.yaml that read them. */

export const ACME_COLUMNS = [
  'participant_id',
  'first_name',
  'last_name',
  'dob',
  'gender',
  'zip',
  'screened_at',
  'site',
  'no_show',
  'fasting',
  'sbp',
  'dbp',
  'pulse',
  'height_in',
  'weight_lb',
  'bmi',
  'waist_in',
  'tc',
  'hdl',
  'ldl',
  'trig',
  'glucose',
  'a1c',
  'tobacco',
  'dx_diabetes',
  'dx_hypertension',
  'dx_asthma',
  'pcp_name',
  'pcp_npi',
  'pcp_phone',
  'notes',
] as const
export type Column = (typeof ACME_COLUMNS)[number]
/** One row's cells by column. */
export type Cells = Record<Column, string>

/** Rule of mappings/acme-onsite.yaml that reads a measurement; glucose has two, by `fasting`. */
export const MEASUREMENTS = {
  sbp: 'systolic-bp',
  dbp: 'diastolic-bp',
  pulse: 'heart-rate',
  height_in: 'body-height',
  weight_lb: 'body-weight',
  bmi: 'bmi',
  waist_in: 'waist-circumference',
  tc: 'total-cholesterol',
  hdl: 'hdl-cholesterol',
  ldl: 'ldl-cholesterol',
  trig: 'triglycerides',
  glucose: 'glucose',
  a1c: 'hba1c',
} as const satisfies Partial<Record<Column, string>>
export const MEASURED = Object.keys(MEASUREMENTS) as (keyof typeof MEASUREMENTS)[]

/** Rule of the mapping that a `Y` in the column leads to. */
export const DIAGNOSES = {
  tobacco: 'tobacco-use',
  dx_diabetes: 'type-2-diabetes',
  dx_hypertension: 'hypertension',
  dx_asthma: 'asthma',
} as const satisfies Partial<Record<Column, string>>
export const DIAGNOSED = Object.keys(DIAGNOSES) as (keyof typeof DIAGNOSES)[]

/** A rule of the mapping, as the samples count records. */
export type AcmeRule =
  | (typeof MEASUREMENTS)[keyof typeof MEASUREMENTS]
  | (typeof DIAGNOSES)[keyof typeof DIAGNOSES]
  | 'glucose-fasting'
  | 'pcp'
