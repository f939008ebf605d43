/** SMS segments: how a text is encoded, cut and counted (3GPP TS 23.038 and 23.040). Depends on nothing. */
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
