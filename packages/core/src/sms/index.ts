/** Encoding and segments of SMS texts (3GPP TS 23.038 and 23.040); loads no other package. */
export {
  countSegments,
  type Encoding,
  encodingOf,
  GSM7_BASIC,
  GSM7_EXTENSION,
  type Gsm7Suggestion,
  gsm7Suggestion,
  type NonGsmCharacter,
  nonGsmCharacters,
  SEGMENT_UNITS,
  type Segmentation,
  segments,
} from './segments.ts'
