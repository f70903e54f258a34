/** Every path of the admin API begins with it. */
export const adminMount = '/admin/v1';
