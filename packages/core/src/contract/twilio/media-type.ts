type MediaType = 'image' | 'video' | 'audio' | 'document'

const TYPES: Readonly<Record<string, MediaType>> = {
  jpg: 'image',
  jpeg: 'image',
  png: 'image',
  webp: 'image',
  mp4: 'video',
  '3gp': 'video',
  aac: 'audio',
  amr: 'audio',
  mp3: 'audio',
  ogg: 'audio',
}

/** The type of a file by the end of its URL. Twilio reads the type from the file itself. */
export function mediaTypeOf(url: string): MediaType {
  const path = url.split(/[?#]/, 1)[0] ?? ''
  const end = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  return (Object.hasOwn(TYPES, end) ? TYPES[end] : undefined) ?? 'document'
}
