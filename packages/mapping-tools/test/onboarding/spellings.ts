/** How vendors call their columns, and what each truly is: invented after the habits of screening companies, laboratories and practices. */

/** Content of a column: a measurement in a unit (`''`: the catalog's), or, without a key, something that looks like one. */
export type Column = readonly [
  header: string,
  key: string,
  unit: string,
  low: number,
  high: number,
  decimals: number,
]

const split = (headers: string): string[] =>
  headers.split('|').map((header) => header.trim().replaceAll(/\s+/g, ' '))

const called =
  (key: string, unit: string, low: number, high: number, decimals = 0) =>
  (headers: string): Column[] =>
    split(headers).map((header) => [header, key, unit, low, high, decimals])

/** Headers of measurements; no key has more of them than there are vendors, so that each is met alone. */
export const MEASURED: readonly Column[] = [
  called(
    'systolic-bp',
    '',
    100,
    160,
  )(`
    SBP | Sys BP | BP (systolic) | systolic_bp | Systolic Blood Pressure (mmHg) | BPSys | RR sys | Systole (mmHg) | systolicBP | bpSystolic
    | BP - Systolic | Blood Pressure (Systolic) | BloodPressureSystolic | Sys. BP | Syst BP | RR syst. | Blutdruck systolisch
    | Systolischer Blutdruck | Pression systolique | Presión sistólica | Tensión arterial sistólica | PAS | Average Systolic BP`),
  called(
    'diastolic-bp',
    '',
    60,
    95,
  )(`
    DBP | Dia BP | BP (diastolic) | diastolic_bp | Diastolic Blood Pressure [mmHg] | RR dia | Diastole | diastolicBP | bpDiastolic | BP Dias
    | Blood Pressure (Diastolic) | Diast BP | Diastolischer Blutdruck | TA diastolique | Presión diastólica`),
  called(
    'body-weight',
    '',
    55,
    110,
    1,
  )(`
    Weight (kg) | weight_kg | Body Weight (kg) | Gewicht (kg) | Poids (kg) | Peso (kg) | WT [kg] | bodyWeightKg | Weight in kg
    | Körpergewicht (kg) | Peso corporal (kg) | Weight Measured (kg)`),
  called(
    'body-weight',
    'lb',
    130,
    240,
  )(`
    Weight (lb) | weight_lbs | WT (lbs) | Body Weight (pounds) | Weight (measured, lb) | Weight | Body Weight | wt | WEIGHT_LBS | weightLbs
    | Weight - lbs | Weight in Pounds | Weight (lbs.) | Current Weight | Weight Today | Body Wt | Biometric Weight`),
  called(
    'body-height',
    '',
    150,
    195,
  )(`
    Height (cm) | height_cm | HT [cm] | Talla (cm) | Größe (cm) | bodyHeightCm | Körpergröße (cm) | Altura (cm) | Height in cm`),
  called(
    'body-height',
    'in',
    59,
    77,
    1,
  )(`
    Height (in) | height_in | HT (inches) | heightInches | Height in Inches | Height - inches | Total Height (in) | Stature (in)`),
  called(
    'bmi',
    '',
    19,
    38,
    1,
  )(`
    BMI | Body Mass Index (BMI) | bmi (kg/m2) | bodyMassIndex | BMI Calculated | calc_bmi | IMC | Índice de masa corporal | BMI (kg/m^2)`),
  called(
    'total-cholesterol',
    '',
    140,
    260,
  )(`
    Total Cholesterol (mg/dL) | chol_mgdl | TC (mg/dL) | Cholesterol (total) mg/dL | CHOL_TOTAL_MGDL`),
  called(
    'total-cholesterol',
    'mmol/L',
    3.5,
    6.9,
    1,
  )(`
    Chol | TotChol | Cholesterol | Total Cholesterol (mmol/L) | tc_mmoll | totalCholesterol | Gesamtcholesterin | Cholestérol total
    | Colesterol total | Cholesterol - Total`),
  called(
    'hdl-cholesterol',
    '',
    35,
    80,
  )(`
    HDL | HDL-C (mg/dL) | HDL Cholesterol | hdl_mgdl | hdlCholesterol | HDL Chol | HDL-Cholesterin | Colesterol HDL | Cholesterol HDL`),
  called(
    'ldl-cholesterol',
    '',
    60,
    180,
  )(`
    LDL | LDL (calculated) | LDL-C | LDL calc (mg/dL) | ldlCholesterol | Calculated LDL | LDL-Cholesterin | Colesterol LDL`),
  called(
    'ldl-cholesterol-direct',
    '',
    60,
    180,
  )(`
    LDL (direct) | LDL direct | Direct LDL (mg/dL) | LDL measured | LDL (mg/dL, direct)`),
  called('non-hdl-cholesterol', '', 90, 200)('Non-HDL | Non HDL Cholesterol | nonHDL (mg/dL)'),
  called('cholesterol-hdl-ratio', '', 2.5, 5.5, 1)('TC/HDL Ratio | Chol/HDL Ratio | CHOL/HDLC Ratio'),
  called(
    'triglycerides',
    '',
    70,
    250,
  )(`
    Triglycerides (mg/dL) | trig_mgdl | Trigs | TRIG (mg/dL) | Triglyzeride (mg/dL) | Triglicéridos (mg/dL) | TRIGL (mg/dL)`),
  called(
    'glucose-fasting',
    '',
    75,
    130,
  )(`
    Glucose (fasting) | Fasting Glucose | FBS | glucose_fasting | Glucose (mg/dL; fasting) | fastingGlucose | FBG | FPG
    | Fasting Blood Sugar | Nüchternglukose (mg/dl) | Glycémie à jeun (mg/dL) | Glucosa en ayunas | Glucemia basal`),
  called(
    'glucose',
    '',
    75,
    160,
  )(`
    Glucose | Glucose (mg/dL) | GLU | Blood Sugar | bloodGlucose | Random Glucose | Non-fasting Glucose | Plasma Glucose (mg/dL)
    | Blutzucker (mg/dl) | Glucosa (mg/dL) | Glucose Level`),
  called('glucose', 'mmol/L', 4.2, 8.8, 1)('glucose_mmol | Glukose (mmol/l) | Glycémie (mmol/L)'),
  called(
    'hba1c',
    '',
    4.8,
    8.5,
    1,
  )(`
    A1c | HbA1c (%) | Hemoglobin A1c (HbA1c) | hba1c_pct | LOINC 4548-4 | HgbA1c | hemoglobinA1c | Hgb A1c | A1C Result | Haemoglobin A1c (%)
    | Glycosylated Hemoglobin (%) | Hémoglobine glyquée (%) | Hemoglobina glicosilada | HbA1c (NGSP) | a1c_percent`),
  called(
    'waist-circumference',
    'in',
    28,
    48,
    1,
  )(`
    Waist (in) | waist_inches | Waist Circumference (in) | Waist Circ (inches) | Waist Measurement (in) | waistCircumferenceIn`),
  called(
    'waist-circumference',
    '',
    68,
    125,
  )(`
    Waist (cm) | Bauchumfang (cm) | Tour de taille (cm) | Perímetro abdominal (cm) | waist_cm`),
  called(
    'heart-rate',
    '',
    55,
    95,
  )(`
    Pulse | Heart Rate (bpm) | HR | Puls | heartRate | Resting HR | pulse_bpm | Herzfrequenz | Fréquence cardiaque | Pulso | BPM`),
  called('potassium', '', 3.6, 5.1, 1)('Potassium (K) | Kalium (mmol/l)'),
  called(
    'creatinine',
    '',
    0.6,
    1.3,
    2,
  )('Creatinine (mg/dL) | creat | Kreatinin (mg/dl) | Serum Creatinine (mg/dL)'),
  called('body-temperature', '[degF]', 97, 100, 1)('Temp (F) | temp_f | Body Temp (°F)'),
  called('oxygen-saturation', '', 94, 100)('SpO2 (%) | O2 Sat | spo2_pct'),
].flat()

/** Columns that are none of the person's measurements of that day, whatever they look like. */
export const TRAPS: readonly Column[] = called(
  '',
  '',
  60,
  99,
)(`
  Weight (goal) | Goal weight | Weight (mother) | weight_last_year | Birth Weight (kg) | Height (father) | Father height | A1c (prior year)
  | prior_a1c | A1c target | Cholesterol (target) | Glucose 2h | Glucose (2 hour) | Glucose (urine) | Sodium (urine) | urine glucose | LDL/HDL
  | weight_2 | SBP (standing) | SBP goal | Pulse (max) | BMI goal | Creatinine (urine) | HDL change | target_ldl | goalWeight | Ideal Body Weight
  | Weight Change | prevWeight | Baseline Weight | Self-Reported Weight | Weight (self-reported) | Pre-pregnancy weight | Wunschgewicht
  | Zielgewicht (kg) | Peso ideal | Poids de naissance (kg) | Spouse Weight | BMI Points | SBP (prior) | Systolic Goal | Waist/Hip Ratio
  | Glucose Prior Year | Estimated Average Glucose | Max Heart Rate | Pulse Pressure | Exercise HR | Home SBP | Last A1c | A1c Diff
  | Cholesterol Points | Waist Goal (in) | Highest weight | Dry Weight | Weight 2024 | Postprandial Glucose`)

/** Yes-and-no columns. */
export const CONDITIONS: readonly (readonly [header: string, key: string])[] = [
  [
    'hypertension',
    'dx_htn | Hypertension (Y/N) | HTN | High Blood Pressure | Bluthochdruck | Hipertensión | has_hypertension',
  ],
  ['diabetes', 'Diabetes | Diabetic (Y/N) | diabetes_dx | Diabète'],
  ['type-2-diabetes', 'Diabetes (type 2) | T2DM | Type II Diabetes'],
  ['asthma', 'Asthma | Asma | dx_asthma'],
  ['copd', 'COPD'],
  ['tobacco-use', 'smoker | Current Smoker | Tobacco Use | Raucher | Fumador'],
  ['hyperlipidemia', 'High Cholesterol | Hyperlipidemia'],
  ['sleep-apnea', 'Sleep Apnea'],
  [
    '',
    `Diabetes (mother) | Mother's Diabetes | family_history_diabetes | Diabetes (m) | former smoker | Asthma (childhood) | hx_asthma | No diabetes
    | gestational diabetes | father_htn | COPD (ruled out) | FH Diabetes | Diabetes Risk | BP Meds | On HTN Meds | Ex-smoker | Never Smoker | Non-smoker
    | Quit Smoking | Spouse Smoker | Secondhand Smoke | Diabetes Program | Pulmonary Hypertension | Diabète (mère) | Exfumador | Nichtraucher
    | Diabetes Referral | Denies Diabetes`,
  ],
].flatMap(([key = '', headers = '']) => split(headers).map((header) => [header, key] as const))

/** Columns of the person and of the visit. The first of each stand together: an employee has names of his own only where his is the id. */
export const PERSONS: Readonly<Record<string, readonly string[]>> = {
  reference: split(`
    Employee ID | Member ID | MemberID | memberId | member_id | Member Number | Member # | Mbr ID | PatientID | Patient ID (MRN) | pat_id | Patient No.
    | MRN | Medical Record Number | EmpID | Participant ID | participantId | participant_code | Person ID | person_key | Client ID | Enrollee ID
    | Beneficiary ID | Versichertennummer | Patienten-Nr. | PatNr | Mitarbeiter-ID | Personalnummer | ID Patient | N° patient | Numéro patient
    | Identifiant patient | ID paciente | Número de paciente | NHC | Nº historia clínica | Worker ID | Unique ID`),
  firstName: split(`
    Employee First Name | First Name | FirstName | first_name | FIRST | FNAME | Given Name | givenName | Patient First Name | pt_first_name | Pt First
    | Member First Name | Participant First Name | First_Nm | Legal First Name | Name (first) | Name - First | Forename | Vorname
    | Vorname des Patienten | Prénom | Prénom du patient | Primer nombre | Nombre(s)`),
  lastName: split(`
    Employee Last Name | Last Name | LastName | last_name | LAST | LNAME | Family Name | surname | Patient Last Name | pt_last_name
    | Member Last Name | Participant Last Name | Last_Nm | Legal Last Name | Name (last) | Nachname | Familienname | Nom de famille | Apellidos
    | Primer apellido`),
  dateOfBirth: split(`
    Employee DOB | DOB | D.O.B. | Date of Birth | DateOfBirth | date_of_birth | Birth Date | birthdate | Birthday | Birth Dt | Patient DOB | pt_dob
    | Member Date of Birth | Participant DOB | DOB (YYYY-MM-DD) | Dt of Birth | Geburtsdatum | Geb.-Datum | Geb. am | Date de naissance | Né(e) le
    | Fecha de nacimiento | FechaNacimiento | F. nac.`),
  gender: split(`
    Employee Gender | Gender | Sex | SEX | Patient Sex | pt_sex | Member Gender | Participant Gender | Gender (M/F) | sex_cd | Gender Code | Legal Sex
    | Administrative Sex | M/F | Geschlecht | Geschlecht (m/w) | Sexe | Sexo | Género | Sex at Birth`),
  postalCode: split(`
    Employee Zip | ZIP | Zip Code | zipCode | zip_code | Postal Code | postalCode | postal_cd | Postcode | Zip5 | ZIP Code (5-digit) | Home Zip
    | Mailing Zip | Residence ZIP | Patient Zip | Member Zip Code | Participant Zip | Address - Zip | addr_zip | PLZ | Postleitzahl | Code postal
    | CP | Código postal`),
  observedAt: split(`
    Screening Date | Visit Date | visit_date | visitDt | Date of Screening | Date Screened | Event Date | Date of Service | DOS | Svc Date
    | Collection Date | collectedAt | Date Collected | Specimen Collection Date | Blood Draw Date | Exam Dt | Test Date | Assessment Date | Appt Date
    | Encounter Date | Observation Date | Date Measured | Biometric Date | Date | Untersuchungsdatum | Datum der Untersuchung | Messdatum
    | Entnahmedatum | Date de prélèvement | Date de consultation | Fecha de visita | Fecha de toma`),
}

/** Columns that look like one of those above, and are not; some vendors have them in its place. */
export const PERSON_TRAPS: Readonly<Record<string, readonly string[]>> = {
  firstName: split(
    `Mother First Name | Emergency Contact First Name | Provider First Name | Spouse First Name | Preferred Name | Middle Name`,
  ),
  lastName: split(
    `Maiden Name | Doctor Last Name | Emergency Contact Last Name | Spouse Last Name | Nom du médecin`,
  ),
  dateOfBirth: split(`Spouse DOB | Mother DOB | Child Birth Date | Dependent DOB`),
  gender: split(`Gender Identity | Provider Gender | Spouse Gender | Sexually Active`),
  postalCode: split(
    `Provider Zip | Employer Zip | Facility Zip | Clinic Zip Code | Work Zip | Zip Code (work) | Pharmacy ZIP`,
  ),
  observedAt: split(`
    Report Date | Upload Date | Hire Date | Eligibility Date | Effective Date | Last Visit Date | Last Screening Date | Prior Screening Date
    | Next Visit Date | Order Date | Expiration Date | Registration Date | Date of Diagnosis | Result Date | Created At`),
}

/** Columns of a provider's NPI and name; whether each is the primary care physician, as the name says. */
export const PROVIDERS: readonly (readonly [npi: string, name: string, primary: boolean])[] = [
  ['PCP NPI', 'PCP Name', true],
  ['pcpNpi', 'pcpName', true],
  ['PCP_NPI', 'PCP', true],
  ['NPI PCP', 'Name PCP', true],
  ['PCP NPI Number', 'PCP Full Name', true],
  ['Primary Care Physician NPI', 'Primary Care Physician Name', true],
  ['Family Doctor NPI', 'Family Doctor Name', true],
  ['Hausarzt NPI', 'Hausarzt Name', true],
  ['Provider NPI', 'Provider Name', false],
  ['Physician NPI', 'Physician', false],
  ['Cardiologist NPI', 'Cardiologist Name', false],
  ['Referring NPI', 'Referring Name', false],
  ['Ordering Provider NPI', 'Ordering Provider Name', false],
  ['Facility NPI', 'Facility Name', false],
]

export const SPELLINGS =
  MEASURED.length +
  TRAPS.length +
  CONDITIONS.length +
  2 * PROVIDERS.length +
  [...Object.values(PERSONS), ...Object.values(PERSON_TRAPS)].reduce((sum, { length }) => sum + length, 0)
