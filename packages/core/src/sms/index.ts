/** Encoding and segments of SMS texts (3GPP TS 23.038 and 23.040); loads no other package. */
export {
  type Gsm7Suggestion,
  gsm7Suggestion,
  type NonGsmCharacter,
  nonGsmCharacters,
} from './analyze.ts'
export { GSM7_BASIC, GSM7_EXTENSION } from './gsm7.ts'
export {
  countSegments,
  type Encoding,
  encodingOf,
  SEGMENT_UNITS,
  type Segmentation,
  segments,
} from './segments.ts'
