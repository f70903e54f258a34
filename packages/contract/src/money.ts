/** Money where it is added up: billionths of the currency, which are whole. */
export const money = {
  toStored: (amount: number): number => Math.round(amount * 1e9),
  fromStored: (stored: number): number => stored / 1e9,
};
