/** Which of the 16384 slots a key belongs to: CRC16 (XMODEM) of the key, or of its {tag}. */

export const SLOT_COUNT = 16_384;

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

export function slotOf(key: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tagged(key))) crc = ((crc << 8) & 0xffff) ^ (TABLE[(crc >> 8) ^ byte] ?? 0);
  return crc % SLOT_COUNT;
}

function tagged(key: string): string {
  const open = key.indexOf("{");
  if (open === -1) return key;
  const close = key.indexOf("}", open + 1);
  return close <= open + 1 ? key : key.slice(open + 1, close);
}
